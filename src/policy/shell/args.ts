import type { Span } from '../../domain/assessment.ts'

/** Stands for text that is known only when the command runs. It cannot occur in a command: control characters are refused. */
export const HOLE = '\0'

/** A word after expansion, as far as that is known before the command runs. */
export interface Arg {
  /** The expanded text, with `HOLE` for every unknown part. */
  value: string
  /** As written. */
  text: string
  at: Span
  known: boolean
  /** Whether it contains an unquoted `*`, `?` or `[…]`. */
  glob: boolean
  /** Whether part of it is the output of a command. */
  substituted: boolean
  /** Whether every unknown part of it is a name of the project's files, as a command lists them. */
  listed?: true
  /** The variable in it whose name says that it holds a secret. */
  secret?: string
}

/** An argument that is derived from another one and does not occur in the command as such. */
export function deriveArg(value: string, like: Arg): Arg {
  return { ...like, value, known: !value.includes(HOLE) }
}

/** `-x`, `--long`: anything that begins with a dash and is longer than one character. */
export function isFlag(arg: Arg): boolean {
  return arg.value.length > 1 && arg.value.startsWith('-')
}

export interface FlagHit {
  arg: Arg
  /** The value that is attached (`-ofile`, `--out=file`) or follows; `undefined` at the end of the words. */
  value: Arg | undefined
}

/**
 * Finds a flag in every spelling: `-o`, `-xyo`, `-ofile`, `--output`, `--output=x`, `--outp`, `-output`. `values` are the short
 * flags that take a value, which end a cluster. An abbreviation of a long flag counts, because getopt accepts it.
 */
export function findFlag(args: readonly Arg[], wanted: readonly string[], values = ''): FlagHit | undefined {
  return findFlags(args, wanted, values)[0]
}

/** Finds all occurrences: for most programs the last one counts. */
export function findFlags(args: readonly Arg[], wanted: readonly string[], values = ''): FlagHit[] {
  const hits: FlagHit[] = []
  for (const [place, arg] of args.entries()) {
    const { value } = arg
    if (value === '--') break
    if (value.length < 2 || value[0] !== '-') continue
    for (const flag of wanted) {
      const attached = matchFlag(value, flag, values)
      if (attached === undefined) continue
      const next = attached === '' ? args[place + 1] : { ...arg, value: attached, known: !attached.includes(HOLE) }
      hits.push({ arg, value: next })
      break
    }
  }
  return hits
}

/** The attached value, `''` if the flag has none, or `undefined` if this is not the flag. */
function matchFlag(value: string, flag: string, values: string): string | undefined {
  if (flag.startsWith('--')) {
    if (!value.startsWith('--')) return undefined
    const equals = value.indexOf('=')
    const name = equals < 0 ? value : value.slice(0, equals)
    const same = name === flag || (name.length > 2 && flag.startsWith(name))
    return same ? (equals < 0 ? '' : value.slice(equals + 1)) : undefined
  }
  if (value.startsWith('--')) return undefined
  if (flag.length > 2) {
    if (value === flag) return ''
    return value.startsWith(`${flag}=`) || value.startsWith(`${flag}:`) ? value.slice(flag.length + 1) : undefined
  }
  const letter = flag[1] ?? ''
  for (let index = 1; index < value.length; index++) {
    const here = value[index] ?? ''
    if (here === letter) return values.includes(letter) || index === value.length - 1 ? value.slice(index + 1) : ''
    if (values.includes(here)) return undefined
  }
  return undefined
}

/**
 * The words that are neither flags nor values of flags. `valued` are the flags that take the next word; after `--` all words count.
 */
export function findOperands(args: readonly Arg[], valued: readonly string[] = []): Arg[] {
  const operands: Arg[] = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]
    if (arg === undefined) break
    if (arg.value === '--') return [...operands, ...args.slice(index + 1)]
    if (arg.value.length < 2 || arg.value[0] !== '-') operands.push(arg)
    else if (takesNext(arg.value, valued)) index++
  }
  return operands
}

function takesNext(value: string, valued: readonly string[]): boolean {
  if (valued.includes(value)) return true
  // A cluster whose last letter takes a value: `-la` does not, `-xC` does.
  if (value.startsWith('--') || value.length < 3) return false
  const inner = [...value.slice(1, -1)].some(letter => valued.includes(`-${letter}`))
  return !inner && valued.includes(`-${value.at(-1)}`) && /^-[A-Za-z]+$/.test(value)
}

/** Splits words at the first `--`. */
export function atDoubleDash(args: readonly Arg[]): { before: Arg[]; after: Arg[] } {
  const place = args.findIndex(arg => arg.value === '--')
  return place < 0 ? { before: [...args], after: [] } : { before: args.slice(0, place), after: args.slice(place + 1) }
}
