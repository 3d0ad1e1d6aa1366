import { type Arg, HOLE } from './args.ts'
import { listsFiles, printDate, printText } from './printed.ts'
import { type KnownValue, noteListed, type ShellScope } from './scope.ts'
import type { ShellNode, Word, WordPart } from './tree.ts'

/** Expands a word to the arguments that the program will get: none, one or several. An unknown part is a hole. */
export function expandWord(word: Word, scope: ShellScope): Arg[] {
  const [only, second] = word.bits
  // The common case first: plain text needs no expansion.
  if (only?.is === 'text' && second === undefined && (only.quoted || !only.value.includes('~')))
    return [{ value: only.value, text: word.text, at: word.at, known: true, glob: false, substituted: false }]
  return new Expansion(word, scope).run()
}

/** A whole list of words. */
export function expandWords(words: readonly Word[], scope: ShellScope): Arg[] {
  return words.flatMap(word => expandWord(word, scope))
}

/** The numbers that a loop over `$(seq 1 5)` goes through. */
export function listNumbers([word, second]: readonly Word[], scope: ShellScope): Arg[] | undefined {
  const [, first = '', last] = /^\$\(seq (\d{1,3})(?: (\d{1,3}))?\)$/.exec(word?.text ?? '') ?? []
  if (word === undefined || second !== undefined || first === '' || scope.tainted || scope.defined.has('seq'))
    return undefined
  const [from, to] = last === undefined ? [1, Number(first)] : [Number(first), Number(last)]
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, step) => ({
    ...{ value: String(from + step), text: word.text, at: word.at },
    ...{ known: true, glob: false, substituted: true },
  }))
}

/** More alternatives than this are not expanded; the word is then unknown. */
const MAX_ALTERNATIVES = 64

class Expansion {
  readonly #word: Word
  readonly #scope: ShellScope
  /** Every alternative of the braces, each as the list of its fields after splitting. */
  #fields: string[][] = [[]]
  #open = false
  #glob = false
  #substituted = false
  #secret: string | undefined
  /** Whether an unknown part may be anything, and is not one of the project's own files. */
  #vague = false

  constructor(word: Word, scope: ShellScope) {
    this.#word = word
    this.#scope = scope
  }

  run(): Arg[] {
    for (const [index, bit] of this.#word.bits.entries()) {
      switch (bit.is) {
        case 'text':
          this.#add(bit.quoted ? bit.value : this.#tildes(bit.value, index), bit.quoted)
          break
        case 'glob':
          this.#glob = true
          this.#add(bit.value, true)
          break
        case 'brace':
          this.#brace(bit.value)
          break
        case 'variable':
          this.#variable(bit)
          break
        case 'substitution':
          this.#substituted = true
          this.#substitution(bit)
          break
        case 'arithmetic':
          this.#vague = true
          this.#add(HOLE, true)
          break
      }
    }
    const { text, at } = this.#word
    // `{,x}` is one word: bash drops an empty one that nothing quotes.
    const isKept = (value: string) => value !== '' || this.#word.bits.some(bit => 'quoted' in bit && bit.quoted)
    const values = this.#fields.flat().filter(isKept)
    return values.map(value => ({
      value,
      text,
      at,
      known: !value.includes(HOLE),
      glob: this.#glob,
      substituted: this.#substituted,
      ...(!this.#vague && value.includes(HOLE) && { listed: true as const }),
      ...(this.#secret !== undefined && { secret: this.#secret }),
    }))
  }

  #add(value: string, quoted: boolean): undefined {
    if (value === '' && !quoted) return
    for (const fields of this.#fields) {
      if (this.#open && fields.length > 0) fields[fields.length - 1] += value
      else fields.push(value)
    }
    this.#open = true
  }

  #brace(value: string | undefined): undefined {
    // Braces come first: `{,x}~` may name a home, and `$v{,x}` reads $vx.
    const isUncertain = this.#word.bits.some(
      bit => bit.is === 'variable' || (bit.is === 'text' && !bit.quoted && bit.value.includes('~')),
    )
    const isKnown = value !== undefined && !isUncertain && !value.includes('~') && !this.#scope.tainted
    const alternatives = isKnown ? expandBraces(value) : undefined
    if (!alternatives || alternatives.length * this.#fields.length > MAX_ALTERNATIVES) {
      this.#vague = true
      return this.#add(HOLE, true)
    }
    const before = this.#fields
    this.#fields = []
    for (const fields of before)
      for (const alternative of alternatives) {
        const copy = [...fields]
        if (this.#open && copy.length > 0) copy[copy.length - 1] += alternative
        else copy.push(alternative)
        this.#fields.push(copy)
      }
    this.#open = true
  }

  #variable(bit: Extract<WordPart, { is: 'variable' }>): undefined {
    const value = bit.plain || bit.cuts ? this.#valueOf(bit.name) : undefined
    const known = value && bit.cuts ? cut(value, bit.cuts) : value
    const list = bit.all && bit.quoted ? this.#valueOf(bit.name)?.list : undefined
    if (list) {
      for (const [index, element] of list.entries()) {
        if (index > 0) this.#open = false
        this.#add(element, true)
      }
      return
    }
    if (known === undefined) {
      if (bit.indirect) this.#secret = `what ${bit.name} names`
      else if (isSecretVariable(bit.name) || this.#scope.secrets.has(bit.name)) this.#secret = bit.name
      if (!bit.plain || this.#scope.tainted || !this.#scope.listed.has(bit.name)) this.#vague = true
      return this.#add(HOLE, true)
    }
    if (known.glob) this.#glob = true
    if (bit.quoted) return this.#add(known.value, true)
    // The shell splits an unquoted value at blanks.
    const parts = known.value.split(/[ \t\n]+/)
    for (const [index, part] of parts.entries()) {
      if (index > 0) this.#open = false
      if (part !== '') this.#add(part, false)
    }
  }

  #valueOf(name: string): KnownValue | undefined {
    const { values, unknown, tainted, home, cwd } = this.#scope
    if (tainted || unknown.has(name)) return undefined
    const set = values.get(name)
    if (set) return set
    if (name === 'HOME') return { value: home, glob: false }
    if (name === 'PWD' && cwd !== undefined) return { value: cwd, glob: false }
    return undefined
  }

  #substitution(bit: Extract<WordPart, { is: 'substitution' }>): undefined {
    const printed = readPrinted(bit, this.#scope)
    // `<(…)` is the name of a pipe, and what comes out of it was judged as a command.
    if (printed === undefined && bit.how === '$(' && !isList(bit.script.body, this.#scope)) this.#vague = true
    this.#add(printed ?? HOLE, true)
  }

  /** Bash expands a tilde at the start of a word, and in what looks like an assignment after `=` and `:` too. */
  #tildes(value: string, index: number): string {
    if (!value.includes('~')) return value
    const { text, bits } = this.#word
    const before = bits[index - 1]
    const isFirst =
      index === 0 || (index === 1 && before?.is === 'text' && (before.value === '' || /=$/.test(before.value)))
    const isAssigned = ASSIGNMENT.test(text)
    if (!isAssigned && !(isFirst && text.startsWith('~'))) return value
    const marks = isAssigned ? /(^|[:=])~([^/:]*)/g : /^()~([^/]*)/g
    return value.replace(marks, (found, mark: string, name: string, at: number) => {
      if (mark === '' && !isFirst) return found
      const left = value.slice(0, at)
      if (mark === '=' && (left.includes('=') || !text.startsWith(`${left}=`))) return found
      const isLast = at + found.length === value.length
      // `~"x"` and `~$x` name no home: what follows belongs to the name. What is escaped is not known here.
      if ((isLast && index < bits.length - 1) || text.includes('\\')) return `${mark}${HOLE}`
      if (name === '') return mark + this.#scope.home
      return name === '+' && this.#scope.cwd !== undefined ? mark + this.#scope.cwd : `${mark}${HOLE}`
    })
  }
}

const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/

/** What is left of a value. Of a pattern only what is written out can be cut off. */
function cut(
  value: { value: string; glob: boolean },
  { end, text }: { end: boolean; text: string },
): typeof value | undefined {
  const fits = end ? value.value.endsWith(text) : value.value.startsWith(text)
  if (!fits) return value.glob ? undefined : value
  return {
    ...value,
    value: end ? value.value.slice(0, value.value.length - text.length) : value.value.slice(text.length),
  }
}

/** Expands `{a,b{c,d}}` and `{1..3}` as the shell does; `undefined` if that gives more than anybody writes by hand. */
export function expandBraces(text: string, budget = 64): string[] | undefined {
  const open = text.indexOf('{')
  if (open < 0) return [text]
  const close = findClosingBrace(text, open)
  if (close < 0) return [text]
  const inner = text.slice(open + 1, close)
  const parts = splitAtCommas(inner)
  const choices = parts.length > 1 ? parts : expandRange(inner)
  const rest = expandBraces(text.slice(close + 1), budget)
  if (rest === undefined || choices === undefined) return undefined
  const heads: string[] = []
  for (const choice of choices) {
    const expanded = expandBraces(choice, budget)
    if (expanded === undefined) return undefined
    heads.push(...expanded)
  }
  if (heads.length * rest.length > budget) return undefined
  const before = text.slice(0, open)
  return heads.flatMap(head => rest.map(tail => before + head + tail))
}

function findClosingBrace(text: string, open: number): number {
  let depth = 0
  for (let index = open; index < text.length; index++) {
    if (text[index] === '{') depth++
    else if (text[index] === '}' && --depth === 0) return index
  }
  return -1
}

/** Splits at commas that are not inside inner braces. */
function splitAtCommas(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '{') depth++
    else if (text[index] === '}') depth--
    else if (text[index] === ',' && depth === 0) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  parts.push(text.slice(start))
  return parts
}

/** Expands `1..9` or `a..e`; a range with a step, with leading zeros or with more than 65 values stays unknown. */
function expandRange(text: string): string[] | undefined {
  const range = /^(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])$/.exec(text)
  if (!range || /(^|\.)-?0\d/.test(text)) return undefined
  const [, from = '', to = ''] = range
  const code = (end: string) => (/^-?\d/.test(end) ? Number(end) : end.charCodeAt(0))
  const letters = !/\d/.test(from)
  const [low, high] = [Math.min(code(from), code(to)), Math.max(code(from), code(to))]
  if (high - low > 64) return undefined
  const values = Array.from({ length: high - low + 1 }, (_, step) =>
    letters ? String.fromCharCode(low + step) : String(low + step),
  )
  return code(from) > code(to) ? values.reverse() : values
}

/** What `$(echo .env)` prints, if that is obvious; `undefined` otherwise. */
function readPrinted(bit: Extract<WordPart, { is: 'substitution' }>, scope: ShellScope): string | undefined {
  const [node, second] = bit.script.body
  if (bit.how !== '$(' || node?.is !== 'command' || second !== undefined || scope.tainted) return undefined
  if (node.assigns.length > 0 || node.redirects.length > 0) return undefined
  const [name, ...words] = node.words.map(literal)
  const [, file, third] = node.words
  if (name === 'dirname' && scope.script !== undefined && !scope.defined.has(name) && third === undefined)
    return OWN_FILE.test(file?.text ?? '') ? plain(scope.script.replace(/\/[^/]*$/, '')) : undefined
  if (name === undefined || scope.defined.has(name) || !words.every(word => word !== undefined)) return undefined
  const text = name === 'date' ? printDate(words) : printText(name, words)
  return text === undefined ? undefined : plain(text.replace(/\n+$/, ''))
}

/** The name of the script itself. */
const OWN_FILE = /^"?(\$0|\$\{0\}|\$BASH_SOURCE|\$\{BASH_SOURCE(\[0\])?\})"?$/

/** Whether a script is one command, or one pipe, that lists files of the project. */
function isList(body: readonly ShellNode[], scope: ShellScope): boolean {
  const [node, second] = body
  if (node === undefined || second !== undefined) return false
  const parts = node.is === 'pipeline' ? node.parts : [node]
  const words = parts.map(part => (part.is === 'command' ? expandWords(part.words, scope) : []))
  return words.every(list => list.length > 0) && (listsFiles(words, scope) || namesPart(words, scope))
}

/** `basename "$f" .ts`: a part of a name of the project's files. */
function namesPart([words = [], second]: Arg[][], scope: ShellScope): boolean {
  const [name, path, ending, ...more] = words
  return (
    second === undefined &&
    /^(basename|dirname)$/.test(name?.value ?? '') &&
    !scope.functions.has(name?.value ?? '') &&
    (path?.listed === true ||
      (path?.known === true && /^[\w][\w*./@-]*$/.test(path.value) && !path.value.includes('..'))) &&
    (ending === undefined || /^[\w.-]+$/.test(ending.value)) &&
    more.length === 0
  )
}

/** The text if it is one word without escapes, so that nothing is left to split, expand or interpret. */
function plain(text: string): string | undefined {
  return /^[\w./+,:@=~-]+$/.test(text) ? text : undefined
}

function literal(word: Word): string | undefined {
  let text = ''
  for (const bit of word.bits) {
    if (bit.is !== 'text' || (bit.value.includes('~') && !bit.quoted)) return undefined
    text += bit.value
  }
  return text
}

/** Sets a variable of the shell to a known value, or to an unknown one. */
export function bindVariable(name: string, value: Arg | undefined, scope: ShellScope): undefined {
  // From here on words are split differently, so no unquoted value is known any more.
  if (name === 'IFS') scope.tainted = true
  if (value === undefined || !value.known || scope.unknown.has(name) || OWN.test(name)) scope.unknown.add(name)
  else scope.values.set(name, { value: value.value, glob: value.glob })
  if (value?.listed) noteListed(scope, name)
}

/** Expands the right side of `=`. */
export function expandAssigned(word: Word, scope: ShellScope): Arg {
  return { ...expandText({ ...word, text: `_=${word.text}` }, scope), text: word.text }
}

/** Expands a word to one text without splitting, as a here-string is. */
export function expandText(word: Word, scope: ShellScope): Arg {
  const bits = word.bits.map(quote)
  const [head] = bits
  // A tilde is expanded; everything else counts as quoted, and an empty text is one argument.
  if (!(head?.is === 'text' && head.value.startsWith('~'))) bits.unshift({ is: 'text', value: '', quoted: true })
  const parts = expandWord({ ...word, bits }, scope)
  const [first] = parts
  if (first === undefined)
    return { value: '', text: word.text, at: word.at, known: true, glob: false, substituted: false }
  return parts.length === 1 ? first : { ...first, value: parts.map(part => part.value).join(' ') }
}

/** Neither words nor braces are split in an assignment. */
function quote(bit: Word['bits'][number]): Word['bits'][number] {
  if (bit.is === 'brace' && bit.value !== undefined) return { is: 'text', value: bit.value, quoted: true }
  return bit.is === 'variable' ? { ...bit, quoted: true } : bit
}

/** Variables that the shell itself sets, so that an assigned value says nothing. */
const OWN =
  /^(_|PWD|OLDPWD|REPLY|MAPFILE|OPTARG|OPTIND|RANDOM|SRANDOM|SECONDS|LINENO|EPOCH\w+|BASH\w*|COPROC|DIRSTACK|FUNCNAME|PIPESTATUS|PPID|UID|EUID|SHLVL|HOSTNAME|COLUMNS|LINES)$/

/** Words in a variable's name that say that it holds a secret. */
const SECRET =
  /(^|_)(API_?KEY|KEY|SECRET|SECRETS|TOKEN|PASSWORD|PASSWD|PASS|PWD|CREDENTIALS?|AUTH|PRIVATE_KEY|ACCESS_KEY|PAT|DSN|COOKIE|SESSION_KEY)(_|$)/i
const SECRET_ENDS = /(APIKEY|PASSWORD|SECRET|TOKEN|PASSPHRASE)$/i
/** Variables with addresses that usually contain a password. */
const CONNECTION =
  /^(DATABASE|DB|POSTGRES|PG|MYSQL|MONGO|MONGODB|REDIS|AMQP|PROD|PRODUCTION)_?(URL|URI|DSN|CONNECTION_STRING)$/i
const HARMLESS = new Set(['PWD', 'OLDPWD', 'GPG_KEY', 'KEY', 'PASS', 'AUTH', 'pass', 'key', 'token', 'auth', 'pwd'])

/** Whether a variable holds a secret, judged by its name. */
export function isSecretVariable(name: string): boolean {
  if (HARMLESS.has(name)) return false
  return SECRET.test(name) || SECRET_ENDS.test(name) || CONNECTION.test(name)
}
