import type { ProgramCall } from '../classify/call.ts'
import { silencesChecks } from '../classify/weaker-checks.ts'
import { type Arg, deriveArg } from '../shell/args.ts'
import { flagTable, scanFlags } from '../shell/flag-table.ts'
import { applySed } from '../shell/printed.ts'
import { judgeFlags, judgeWritten } from './rule-builders.ts'
import { judgeScriptFile } from './run-code.ts'

const SED_FLAGS = flagTable({
  harmless: `-nErsuzba -e: -f: -l: -i? -I? --quiet --silent --line-length: --regexp-extended --separate --unbuffered
    --null-data --zero-terminated --posix --debug --sandbox --follow-symlinks --binary`,
  // Not listed as harmless, so that their abbreviations count.
  asks: '--expression: --file: --in-place?',
})

/** Scripts that remove every line, or all that is in it. */
const EMPTIES = /^\s*((1,\$|\/(\.|\.\*|\^|\$)\/|[01]~1)?\s*d|Q|s(.)(\^?\.\*\$?)\4\4g?)\s*;?\s*$/

/** sed: LOW as a filter, MEDIUM in place; its commands `w`, `e` and `r` write, run and read. */
export function sed(call: ProgramCall): undefined {
  const seen = scanFlags(call.args, SED_FLAGS)
  judgeFlags(call, { ...seen, flags: [] })
  const inPlace = seen.flags.find(flag => /^(i|I|in-place)$/.test(flag.name))
  const texts: Arg[] = []
  let explicit = false
  for (const { name, value } of seen.flags) {
    if (!/^(e|expression|f|file)$/.test(name)) continue
    explicit = true
    if (value && /^e/.test(name)) texts.push(value)
    else if (value) judgeScriptFile(call, value)
  }
  // BSD sed takes the suffix as a separate word: `sed -i '' s/a/b/ file`.
  const words = inPlace && seen.operands[0]?.value === '' ? seen.operands.slice(1) : seen.operands
  const [first, ...others] = words
  if (!explicit && first) texts.push(first)
  judgeTexts(call, texts)
  const isExtended = seen.flags.some(flag => /^(E|r|regexp-extended)$/.test(flag.name))
  const isPlain = seen.flags.every(flag => /^(E|r|regexp-extended|i|I|in-place|e|expression)$/.test(flag.name))
  const script = isPlain && texts.every(({ known }) => known) ? texts.map(({ value }) => value).join('\n') : undefined
  const inserted = texts.every(({ known }) => known) ? readInserted(texts) : undefined
  const swaps = texts.every(({ known }) => known) ? readSedSwaps(texts, isExtended) : undefined
  const files = explicit ? words : others
  for (const arg of files) call.path(arg, inPlace ? 'write' : 'read')
  // Files that xargs names are not known.
  for (const arg of inPlace ? (files.length > 0 ? files : [{ ...inPlace.arg, known: false }]) : [])
    call.change(arg, had => ({
      after: script && had !== undefined ? applySed(script, had, isExtended) : undefined,
      added: script?.replace(/\\([^\w\s])/g, '$1'),
      inserted,
      swaps,
    }))
  if (inPlace) call.say('file.edit', 'MEDIUM', 'sed -i changes files', inPlace.arg)
  const isSilent = seen.flags.some(flag => /^(n|quiet|silent)$/.test(flag.name))
  const emptied = texts.find(({ value }) => EMPTIES.test(value) || (isSilent && !/[pPw]/.test(value)))
  if (inPlace && emptied) call.say('file.delete', 'HIGH', `${emptied.text} leaves nothing of the file`, emptied)
}

/** What a script puts in: replacements, and lines that it adds. */
function readInserted(texts: readonly Arg[]): string {
  return readSedScript(texts.map(arg => arg.value).join('\n'))
    .inserts.join('\n')
    .replace(/\\([^\w\s])/g, '$1')
}

/** What the lines that a script changes may look like before and after. */
function readSedSwaps(texts: readonly Arg[], isExtended: boolean): Swap[] {
  return readSedScript(texts.map(arg => arg.value).join('\n')).swaps.flatMap(({ pattern, to }) =>
    listSwaps(
      isExtended ? pattern : pattern.replace(/\\([(){}|+?])|([(){}|+?])/g, (_, bare, plain) => bare ?? `\\${plain}`),
      to,
    ),
  )
}

/** Joins several texts to one script, one line each. */
function judgeTexts(call: ProgramCall, texts: readonly Arg[]): undefined {
  const [first] = texts
  if (first === undefined) return
  const unknown = texts.find(arg => !arg.known)
  if (unknown) return call.say('code.unknown', 'MEDIUM', 'part of the sed program is known only when it runs', unknown)
  const { writes, reads, runs, readable } = readSedScript(texts.map(arg => arg.value).join('\n'))
  if (!readable) call.say('code.unknown', 'HIGH', 'the sed program cannot be read', first)
  if (runs) call.say('code.alarming', 'HIGH', 'the sed program runs commands', first)
  for (const path of writes) judgeWritten(call, first, deriveArg(path, first))
  for (const path of reads) {
    call.path(deriveArg(path, first), 'read')
    call.say('code.inline', 'MEDIUM', 'the sed program reads another file', first)
  }
}

/** What a sed script does other than print. */
export interface SedEffects {
  writes: string[]
  reads: string[]
  runs: boolean
  /** Texts that it puts in. */
  inserts: string[]
  /** Patterns with what takes their place: nothing, for lines that are left out. */
  swaps: { pattern: string; to: string }[]
  /** Whether every character of it was understood. */
  readable: boolean
}

/**
 * Reads a script as sed does: addresses, then one letter, then the arguments of that letter. Implementations differ in whether a
 * delimiter in brackets ends a pattern (`s/[/]/x/`), so the script is read both ways.
 */
export function readSedScript(script: string): SedEffects {
  const ways = script.includes('[') ? [true, false] : [true]
  const readings = ways.map(brackets => new Reader(script, brackets).effects())
  return {
    writes: readings.flatMap(reading => reading.writes),
    reads: readings.flatMap(reading => reading.reads),
    runs: readings.some(reading => reading.runs),
    inserts: readings.flatMap(reading => reading.inserts),
    swaps: readings.flatMap(reading => reading.swaps),
    readable: readings.some(reading => reading.readable),
  }
}

class Reader {
  readonly #text: string
  readonly #brackets: boolean
  readonly #found: SedEffects = { writes: [], reads: [], runs: false, inserts: [], swaps: [], readable: true }
  #at = 0
  /** The pattern that says for which lines the command is. */
  #pattern: string | undefined
  /** Whether the command is for one line by its number. */
  #isOne = false

  constructor(text: string, brackets: boolean) {
    this.#text = text
    this.#brackets = brackets
  }

  effects(): SedEffects {
    while (this.#found.readable) {
      this.#skip(/[\s;{}]/)
      if (this.#at >= this.#text.length) break
      this.#addresses()
      this.#command()
    }
    return this.#found
  }

  #addresses(): undefined {
    this.#isOne = /\d/.test(this.#here())
    this.#pattern = undefined
    this.#address()
    this.#skip(/[ \t]/)
    if (this.#here() === ',') {
      this.#isOne = false
      this.#at++
      this.#skip(/[ \t]/)
      if (/[+~]/.test(this.#here())) this.#at++
      this.#address()
    }
    this.#skip(/[\s!]/)
  }

  #address(): undefined {
    const first = this.#here()
    if (first === '/' || first === '\\') {
      if (first === '\\') this.#at++
      const delimiter = this.#here()
      const start = ++this.#at
      this.#until(delimiter, this.#brackets)
      this.#pattern ??= this.#text.slice(start, this.#at - 1)
      this.#skip(/[IM]/)
    } else if (first === '$') this.#at++
    else this.#skip(/[0-9~]/)
  }

  #command(): undefined {
    const letter = this.#here()
    this.#at++
    if (letter === '{' || letter === '}' || letter === '') return
    if (letter === '#') {
      this.#line()
      return
    }
    if (/[aic]/.test(letter)) return this.#textLines()
    if (/[wW]/.test(letter)) return this.#note(this.#found.writes)
    if (/[rR]/.test(letter)) return this.#note(this.#found.reads)
    if (letter === 'e') {
      this.#line()
      this.#found.runs = true
      return
    }
    if (letter === 's' || letter === 'y') return this.#replace(letter)
    if (/[btT:v]/.test(letter)) return this.#skip(/[^;\n}]/)
    if (!/[=dDgGhHlLnNpPqQxzF]/.test(letter)) return this.#lost()
    if (letter === 'd' && this.#pattern) this.#found.swaps.push({ pattern: this.#pattern, to: '' })
    this.#skip(/[ \t0-9]/)
    if (this.#at < this.#text.length && !/[\s;}#]/.test(this.#here())) this.#lost()
  }

  #replace(letter: string): undefined {
    const delimiter = this.#here()
    this.#at++
    if (delimiter === '' || delimiter === '\n' || delimiter === '\\') return this.#lost()
    const first = this.#at
    this.#until(delimiter, this.#brackets && letter === 's')
    const start = this.#at
    this.#until(delimiter, false)
    const to = this.#text.slice(start, this.#at - 1)
    if (letter === 's') this.#insert(to)
    if (letter === 's') this.#found.swaps.push({ pattern: this.#text.slice(first, start - 1), to })
    if (letter === 'y') return
    while (/[gpiImMe0-9w]/.test(this.#here())) {
      const flag = this.#here()
      this.#at++
      if (flag === 'e') this.#found.runs = true
      if (flag === 'w') return this.#note(this.#found.writes)
    }
    this.#skip(/[ \t]/)
    if (this.#at < this.#text.length && !/[\s;}#]/.test(this.#here())) this.#lost()
  }

  /** Moves past the next delimiter that is not escaped. */
  #until(delimiter: string, brackets: boolean): undefined {
    let inside = false
    for (; this.#at < this.#text.length; this.#at++) {
      const letter = this.#here()
      if (letter === '\\' && !inside) this.#at++
      else if (brackets && letter === '[' && !inside) {
        inside = true
        // A bracket at the very beginning is literal.
        if (this.#text[this.#at + 1] === '^') this.#at++
        if (this.#text[this.#at + 1] === ']') this.#at++
      } else if (inside && letter === ']') inside = false
      else if (!inside && letter === delimiter) {
        this.#at++
        return
      }
    }
    this.#lost()
  }

  /** `a`, `i` and `c` take the rest of the line, and the next line after a backslash. */
  #textLines(): undefined {
    const start = this.#at
    while (this.#line().endsWith('\\') && this.#at < this.#text.length);
    this.#insert(this.#text.slice(start, this.#at).replace(/^[ \t]*\\?\s*/, ''))
  }

  /** At one line a comment for that line is an edit like any other. */
  #insert(text: string): undefined {
    if (!this.#isOne || silencesChecks(text)) this.#found.inserts.push(text)
  }

  #note(list: string[]): undefined {
    list.push(this.#line().trim())
  }

  #line(): string {
    const end = this.#text.indexOf('\n', this.#at)
    const line = this.#text.slice(this.#at, end < 0 ? undefined : end)
    this.#at = end < 0 ? this.#text.length : end + 1
    return line
  }

  #lost(): undefined {
    this.#found.readable = false
  }

  #skip(shape: RegExp): undefined {
    while (this.#at < this.#text.length && shape.test(this.#here())) this.#at++
  }

  #here(): string {
    return this.#text[this.#at] ?? ''
  }
}

/** A text that a pattern finds, and what it becomes. */
export interface Swap {
  from: string
  to: string
}

/** What a substitution makes of texts that its pattern may find; `\1` and `&` in `to` stand for what it found. */
export function listSwaps(pattern: string, to: string): Swap[] {
  // Nobody writes so long a pattern, and one may hide a test.
  if (pattern.length > MOST_PATTERN) return [{ from: 'it(expect(', to: '' }]
  return listSamples(pattern).map(groups => ({
    from: groups[0] ?? '',
    to: to.replace(/\\([\s\S])|&/g, (whole, next: string | undefined) => {
      if (whole === '&') return groups[0] ?? ''
      return next === 'n'
        ? '\n'
        : next === 't'
          ? '\t'
          : /\d/.test(next ?? '')
            ? (groups[Number(next)] ?? '')
            : (next ?? '')
    }),
  }))
}

const MOST_PATTERN = 300
/** More texts for one pattern tell nothing new. */
const MOST_SAMPLES = 12

/** Texts that a pattern may find, each followed by what its groups find: all choices (`it|test`), and what may be left out is left out. */
function listSamples(pattern: string): string[][] {
  let at = 0
  let opened = 0
  return choices()

  function choices(): string[][] {
    const found: string[][] = []
    let branch: string[][] = [['']]
    for (; at < pattern.length && pattern[at] !== ')'; ) {
      if (pattern[at] === '|') {
        at++
        found.push(...branch)
        branch = [['']]
      } else {
        const next = item()
        branch = branch
          .flatMap(before => next.map(after => [`${before[0]}${after[0]}`, ...merge(before, after)]))
          .slice(0, MOST_SAMPLES)
      }
    }
    return [...found, ...branch].slice(0, MOST_SAMPLES)
  }

  function merge(before: string[], after: string[]): string[] {
    return Array.from(
      { length: Math.max(before.length, after.length) - 1 },
      (_, group) => after[group + 1] ?? before[group + 1] ?? '',
    )
  }

  function item(): string[][] {
    const letter = pattern[at++] ?? ''
    if (letter === '(') return group()
    const text = letter === '[' ? bracket() : letter === '\\' ? escaped() : /[$^]/.test(letter) ? '' : letter
    const [many = ''] = /^([*?]|\{[^}]*\}|\+)\??/.exec(pattern.slice(at)) ?? []
    at += many.length
    return [[/^([*?]|\{0)/.test(many) ? '' : text]]
  }

  function group(): string[][] {
    const [mark = ''] = /^\?(:|<?[=!]|<\w+>)/.exec(pattern.slice(at)) ?? []
    at += mark.length
    const place = mark === '' || /\w/.test(mark) ? ++opened : undefined
    const found = choices()
    at++
    const [many = ''] = /^([*?+]|\{[^}]*\})\??/.exec(pattern.slice(at)) ?? []
    at += many.length
    if (/[=!]/.test(mark)) return [['']]
    if (place === undefined) return found
    return found.map(one => {
      const groups = [...one]
      for (let index = 1; index <= place; index++) groups[index] ??= ''
      groups[place] = one[0] ?? ''
      return groups
    })
  }

  function bracket(): string {
    const [whole = '', not, first = ''] = /^(\^?)(\]?[^\]]*)\]/.exec(pattern.slice(at)) ?? []
    at += whole.length
    return not ? 'x' : first.replace(/^\[:(\w+):$/, '$1').slice(0, 1)
  }

  function escaped(): string {
    const letter = pattern[at++] ?? ''
    if (/[bB<>AzZ`\d]/.test(letter)) return letter === 'd' ? '1' : ''
    return ({ s: ' ', w: 'x', S: 'x', n: '\n', t: '\t' } as Record<string, string>)[letter] ?? letter
  }
}
