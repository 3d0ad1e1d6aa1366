import type { Word } from '../../shell/tree.ts'
import type { Arg } from './arg.ts'
import { expandWord } from './expand.ts'
import type { Scope } from './scope.ts'

/** A variable of the shell gets a value that is known, or one that is not. */
export function bind(name: string, value: Arg | undefined, scope: Scope): undefined {
  // Words are split elsewhere from here on: nothing unquoted can be told any more.
  if (name === 'IFS') scope.tainted = true
  if (value === undefined || !value.known || scope.unknown.has(name) || OWN.test(name)) scope.unknown.add(name)
  else scope.values.set(name, { value: value.value, glob: value.glob })
}

/** A word as one text, not split: the right side of `=`, a here-string. */
export function textOf(word: Word, scope: Scope): Arg {
  const bits = word.bits.map(quote)
  const [head] = bits
  // A tilde at the beginning is expanded; everything else counts as quoted, and an empty text is one argument.
  if (!(head?.is === 'text' && head.value.startsWith('~'))) bits.unshift({ is: 'text', value: '', quoted: true })
  const parts = expandWord({ ...word, bits }, scope)
  const [first] = parts
  if (first === undefined)
    return { value: '', text: word.text, at: word.at, known: true, glob: false, substituted: false }
  return parts.length === 1 ? first : { ...first, value: parts.map(one => one.value).join(' ') }
}

function quote(bit: Word['bits'][number]): Word['bits'][number] {
  return bit.is === 'variable' ? { ...bit, quoted: true } : bit
}

/** Variables that the shell itself sets, whatever they were set to. */
const OWN =
  /^(_|PWD|OLDPWD|REPLY|MAPFILE|OPTARG|OPTIND|RANDOM|SRANDOM|SECONDS|LINENO|EPOCH\w+|BASH\w*|COPROC|DIRSTACK|FUNCNAME|PIPESTATUS|PPID|UID|EUID|SHLVL|HOSTNAME|COLUMNS|LINES)$/
