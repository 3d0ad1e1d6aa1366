import type { Arg } from './args.ts'
import type { ShellScope } from './scope.ts'

/** What `echo` or `printf` prints with these words; `undefined` if that differs between shells or is not known. */
export function printText(name: string, words: readonly string[]): string | undefined {
  if (name === 'echo') return printEcho(words)
  return name === 'printf' ? printFormat(words) : undefined
}

/**
 * What `date` prints, with zeros for its digits: which they are makes no difference, and nothing else can come of it. `undefined` for names of
 * days, and for another date than now.
 */
export function printDate(words: readonly string[]): string | undefined {
  const [format, second] = words.filter(word => word !== '-u')
  if (second !== undefined || !/^\+(%[YmdHMSsNjuFT]|[\dTZ_.-])+$/.test(format ?? '')) return undefined
  return `${(format ?? '').slice(1).replace(/%(.)/g, (_, letter: string) => DATES[letter] ?? '00')}\n`
}

const DATES: Record<string, string> = { Y: '2000', F: '2000-01-01', T: '00:00:00', s: '1000000000', j: '001', u: '1' }

function printEcho(words: readonly string[]): string | undefined {
  // Some shells print `-n` and interpret backslashes, others do not.
  if (words.some(word => word.includes('\\')) || /^-[neE]*[eE]/.test(words[0] ?? '')) return undefined
  const plain = words[0] === '-n' ? words.slice(1) : words
  return `${plain.join(' ')}${plain === words ? '\n' : ''}`
}

/** `printf` uses its format again until no value is left. Only `%s`, `%b` of plain text, `%%` and common escapes are followed. */
function printFormat(words: readonly string[]): string | undefined {
  const [format, ...values] = words[0] === '--' ? words.slice(1) : words
  if (format === undefined || (words[0] !== '--' && format.startsWith('-'))) return undefined
  if (/%(?![s%])/.test(format.replaceAll('%%', ''))) return undefined
  const takes = format.replaceAll('%%', '').includes('%s')
  let text = ''
  let next = 0
  do {
    for (const [token] of format.matchAll(/%%|%s|\\[0-7]{1,3}|\\[\s\S]?|[^%\\]+/g)) {
      if (token === '%s') text += values[next++] ?? ''
      else if (token === '%%') text += '%'
      else if (token.startsWith('\\')) {
        const letter = ESCAPES[token] ?? readOctal(token)
        if (letter === undefined) return undefined
        text += letter
      } else text += token
    }
  } while (takes && next < values.length)
  return text
}

/** `\055` is a dash. Bytes beyond ASCII depend on the locale. */
function readOctal(token: string): string | undefined {
  const code = /^\\[0-7]+$/.test(token) ? Number.parseInt(token.slice(1), 8) : Number.NaN
  return code < 0x80 ? String.fromCharCode(code) : undefined
}

const ESCAPES: Record<string, string> = { '\\n': '\n', '\\t': '\t', '\\0': '\0', '\\\\': '\\' }

/** What a command prints that prints its own words, a file or a here-document, or changes values of a JSON file by their names. */
export function computeOutput(
  words: readonly Arg[],
  body: Arg | undefined,
  read: (file: string) => string | undefined,
): string | undefined {
  const [name, ...rest] = words.map(({ value }) => value)
  if (name === undefined || !words.every(({ known, glob }) => known && !glob)) return undefined
  if (name === 'cat' && rest.length === 0) return body?.known ? body.value : undefined
  if (body !== undefined) return undefined
  if (name === 'cat' && rest.length === 1 && !rest[0]?.startsWith('-')) return read(rest[0] ?? '')
  if (name !== 'jq') return printText(name, rest)
  const [filter, file, ...more] = rest.filter(word => !/^(-[rSM]+|--(indent|tab|sort-keys)|\d)$/.test(word))
  const text = file === undefined || more.length > 0 ? undefined : read(file)
  return filter === undefined || text === undefined ? undefined : applyJq(filter, text)
}

/** The text after `.a.b = "x" | del(.c)`. */
function applyJq(filter: string, text: string): string | undefined {
  try {
    const root: unknown = JSON.parse(text)
    for (const step of filter.split(/\s*\|\s*(?![^"]*"(?:[^"]*"[^"]*")*[^"]*$)/)) {
      const [, removed, set, value] =
        /^\s*(?:del\(\s*((?:\.[A-Za-z_]\w*|\.?\["[^"\\]+"\]|\."[^"\\]+")+)\s*\)|((?:\.[A-Za-z_]\w*|\.?\["[^"\\]+"\]|\."[^"\\]+")+)\s*=\s*(.+))\s*$/s.exec(
          step,
        ) ?? []
      const keys = [...(removed ?? set ?? '').matchAll(/[A-Za-z_]\w*(?![^"]*"\])|(?<=")[^"\\]+(?=")/g)].map(
        ([key]) => key,
      )
      const last = keys.pop()
      // `__proto__` and `constructor` lead out of the text, to what every object has.
      if (last === undefined || [...keys, last].some(key => key in {})) return undefined
      let table = root as Record<string, unknown>
      for (const key of keys) {
        table[key] ??= {}
        table = table[key] as Record<string, unknown>
      }
      if (removed !== undefined) delete table[last]
      else table[last] = JSON.parse(value ?? '')
    }
    return `${JSON.stringify(root, null, 2)}\n`
  } catch {
    return undefined // no JSON, or a filter that computes
  }
}

/** Programs that pass on some of the lines that they get, or one column of them. */
const FILTERS = /^(grep|egrep|fgrep|rg|head|tail|sort|uniq|cut)$/

/**
 * Whether a pipe of programs only prints names of files in the folder that the shell is in, so that reading them is like any other
 * read of the project. A list that can hold hidden files must say by a pattern which files it means, unless they are only searched
 * for a text, as `grep -r` does.
 */
export function listsFiles(pipe: readonly (readonly Arg[])[], scope: ShellScope, searched = false): boolean {
  const [first, ...filters] = pipe
  if (first === undefined || !first.every(arg => arg.known)) return false
  return listsNames(first, scope, searched) && filters.every(words => isFilter(words))
}

function isFilter(words: readonly Arg[]): boolean {
  const [name, ...rest] = words.map(arg => arg.value)
  // The folders of the files, or their names in another form.
  if (name === 'xargs') return /^(-r |-0 |-n ?1 )*(dirname|basename)$/.test(rest.join(' '))
  if (name === 'sed')
    return /^s([#|,/])(\^|\^\.\/|\\\.\w+\$)\1(\.\/)?\1g?$|^s([#|,])\^[\w-]+(\/[\w-]+)*\/\4\4$/.test(rest.join(' '))
  if (name === 'tr') return /^(-s )?\\n[ ,]$/.test(rest.join(' ').replace('\\n  ', '\\n '))
  if (name === 'awk') return rest.length === 1 && /^\{ ?print \$\w+ ?\}$/.test(rest[0] ?? '')
  // With a file of its own it prints lines of that file.
  return name !== undefined && FILTERS.test(name) && rest.filter(word => !word.startsWith('-')).length <= 1
}

function listsNames(words: readonly Arg[], scope: ShellScope, searched: boolean): boolean {
  const [name = '', ...rest] = words.map(arg => arg.value)
  if (scope.functions.has(name) || rest.some(word => leadsOut(word, scope))) return false
  switch (name) {
    case 'git':
      return GIT_LISTS.test(rest.join(' '))
    case 'rg':
      return printsNames(rest) && (searched || !rest.some(word => /^(-[a-zA-Z]*[u.]|--(hidden|unr|no-ig))/.test(word)))
    case 'grep':
      return printsNames(rest)
    case 'ls':
      return !rest.some(word => /^(-[a-zA-Z0-9]*[aAf]|--a)/.test(word) || /(^|\/)\./.test(word))
    case 'fd':
    case 'fdfind':
      return !rest.some(word => /^(-[a-zA-Z0]*[HIux]|--(hidden|unrestricted|no-ignore))/.test(word)) || searched
    case 'find':
      return searched || hasPattern(rest)
    case 'which':
      return true
    case 'command':
      return rest[0] === '-v'
    default:
      return false
  }
}

function printsNames(words: readonly string[]): boolean {
  return words.some(word => /^(-[a-zA-Z]*l[a-zA-Z]*|--files|--files-with-matches|--files-without-match)$/.test(word))
}

/** Git commands that print names of files, and nothing of what is in them. */
const GIT_LISTS =
  /^(ls-files\b|(diff|show|log)\b.* --name-only\b|status\b.* (-s|--short|--porcelain)\b|grep\b.* (-[zwiEFn]*l[zwiEFn]*|--name-only|--files-with-matches)\b|rev-parse --show-(toplevel|prefix|cdup)$|merge-base( --fork-point)?( [\w./^~@][\w./^~@-]*){1,2}$|rev-parse( --short| --verify| --abbrev-ref)?( [\w./^~@][\w./^~@-]*)$|branch --show-current$|describe --tags( --abbrev=0)?( --always)?$|rev-list( --(reverse|no-merges|first-parent|all|abbrev-commit|max-parents=0|max-count=\d+)| -n ?\d+)*( [\w./^~@][\w./^~@-]*)+$)/

/** Whether words of `find` or `fd` say by name or ending which files are meant, in each alternative. `*` alone says nothing. */
export function hasPattern(words: readonly string[]): boolean {
  const choice = words.findIndex(word => /^(-o|-or|,)$/.test(word))
  if (choice >= 0) return hasPattern(words.slice(0, choice)) && hasPattern(words.slice(choice + 1))
  return words.some(
    (word, at) =>
      /^(-i?(name|path|wholename|regex)|-e|--extension|-g|--glob)$/.test(words[at - 1] ?? '') &&
      !/^(!|-not)$/.test(words[at - 2] ?? '') &&
      /\w/.test(word),
  )
}

/** Whether a word may be a path outside of the folder that the shell is in. */
export function leadsOut(word: string, { cwd }: Pick<ShellScope, 'cwd'>): boolean {
  if (cwd === undefined || word.split('/').includes('..')) return true
  return /^[/~]/.test(word) && word !== '/dev/null' && word !== cwd && !word.startsWith(`${cwd}/`)
}

interface SedStep {
  address: SedAddress[]
  negated: boolean
  letter: string
  pattern?: RegExp
  replacement?: (groups: readonly string[]) => string
  nth?: number
  all?: boolean
  text?: string
  active?: boolean
}

type SedAddress = { line: number } | { last: true } | { pattern: RegExp }

/**
 * The text that a script makes of another one, line by line; `undefined` unless that is certain. It knows `s`, `d`, `a`, `i` and `c`, with patterns
 * that mean the same in sed and here.
 */
export function applySed(script: string, text: string, isExtended: boolean): string | undefined {
  const steps = readSteps(script, isExtended)
  if (steps === undefined || text.split('\n').some(line => line.length > MAX_LINE)) return undefined
  const ends = text.endsWith('\n')
  const lines = (ends ? text.slice(0, -1) : text).split('\n')
  const out: string[] = []
  for (const [at, line] of lines.entries()) {
    let now: string | undefined = line
    const after: string[] = []
    for (const step of steps) {
      if (!isMeant(step, now, at + 1, lines.length)) continue
      if (step.letter === 's') now = replaceIn(now, step)
      else if (step.letter === 'a') after.push(step.text ?? '')
      else if (step.letter === 'i') out.push(step.text ?? '')
      else {
        if (step.letter === 'c') out.push(step.text ?? '')
        now = undefined
      }
      if (now === undefined) break
    }
    if (now !== undefined) out.push(now)
    out.push(...after)
  }
  return out.length === 0 ? '' : `${out.join('\n')}${ends ? '\n' : ''}`
}

/** Longer lines are of files that no person writes. */
const MAX_LINE = 300

function isMeant(step: SedStep, line: string, at: number, count: number): boolean {
  const fits = (address: SedAddress) =>
    'line' in address ? address.line === at : 'last' in address ? at === count : address.pattern.test(line)
  const [first, second] = step.address
  let meant = first === undefined || fits(first)
  if (first && second) {
    if (step.active) {
      meant = true
      if (fits(second) || ('line' in second && at >= second.line)) step.active = false
    } else if (meant) step.active = !('line' in second && second.line <= at) && !('last' in second && at === count)
  }
  return meant !== step.negated
}

function replaceIn(line: string, { pattern, replacement, nth = 1, all }: SedStep): string {
  let seen = 0
  return line.replace(pattern as RegExp, (...found: unknown[]) => {
    seen++
    const groups = found
      .slice(
        0,
        found.findIndex(one => typeof one === 'number'),
      )
      .map(one => String(one ?? ''))
    return seen === nth || (all && seen > nth) ? (replacement?.(groups) ?? '') : (groups[0] ?? '')
  })
}

function readSteps(script: string, isExtended: boolean): SedStep[] | undefined {
  const steps: SedStep[] = []
  let rest = script.replace(/^[\s;]+/, '')
  while (rest !== '') {
    const address: SedAddress[] = []
    for (;;) {
      const [whole = '', line, last, delimiter, body, other, otherBody] =
        /^(?:(\d+)|(\$)|(\/)((?:[^/\\\n[]|\\.|\[\^?\]?[^\]\n]*\])+)\/|\\([#|,@%!])((?:(?!\5)[^\\\n])+)\5)/.exec(rest) ??
        []
      if (whole === '') break
      const pattern =
        line || last ? undefined : toPattern(body ?? otherBody ?? '', isExtended, delimiter ?? other ?? '')
      if (!line && !last && pattern === undefined) return undefined
      address.push(line ? { line: Number(line) } : last ? { last: true } : { pattern: new RegExp(pattern ?? '') })
      rest = rest.slice(whole.length).replace(/^[ \t]+/, '')
      if (address.length === 2 || !rest.startsWith(',')) break
      rest = rest.slice(1).replace(/^[ \t]+/, '')
    }
    if (address.some(one => 'line' in one && one.line === 0)) return undefined
    const negated = rest.startsWith('!')
    if (negated) rest = rest.slice(1).replace(/^[ \t]+/, '')
    const letter = rest[0] ?? ''
    if (letter === 's') {
      const read = readSubstitute(rest, isExtended)
      if (read === undefined) return undefined
      steps.push({ address, negated, letter, ...read.step })
      rest = rest.slice(read.length)
    } else if (letter === 'd') {
      steps.push({ address, negated, letter })
      rest = rest.slice(1)
    } else if (/[aic]/.test(letter)) {
      const [whole = '', , text = ''] = /^[aic](\\\n|\\|[ \t]+)([^\n\\]*)(?=\n|$)/.exec(rest) ?? []
      if (whole === '' || (letter === 'c' && address.length > 1)) return undefined
      steps.push({ address, negated, letter, text: /^[aic]\\/.test(whole) ? text : text.trimStart() })
      rest = rest.slice(whole.length)
    } else return undefined
    if (!/^[ \t]*(;|\n|$)/.test(rest)) return undefined
    rest = rest.replace(/^[\s;]+/, '')
  }
  return steps
}

function readSubstitute(rest: string, isExtended: boolean): { step: Partial<SedStep>; length: number } | undefined {
  const delimiter = rest[1] ?? ''
  if (!/[/#|,@%!:_~]/.test(delimiter)) return undefined
  const part = `((?:[^\\\\${RegExp.escape(delimiter)}]|\\\\[\\s\\S])*)`
  const found = new RegExp(
    `^s${RegExp.escape(delimiter)}${part}${RegExp.escape(delimiter)}${part}${RegExp.escape(delimiter)}([gI\\d]*)`,
  ).exec(rest)
  if (found === null) return undefined
  const [whole, from = '', to = '', flags = ''] = found
  const pattern = toPattern(from, isExtended, delimiter)
  const replacement = toReplacement(to)
  if (pattern === undefined || replacement === undefined || pattern === '') return undefined
  // After a match, sed and JavaScript differ in whether nothing is found at its end.
  if (/[g\d]/.test(flags) && new RegExp(pattern).test('')) return undefined
  const nth = Number(/\d+/.exec(flags)?.[0] ?? 1)
  return {
    step: {
      pattern: new RegExp(pattern, flags.includes('I') ? 'gi' : 'g'),
      replacement,
      nth,
      all: flags.includes('g'),
    },
    length: whole.length,
  }
}

/** A pattern of sed as one of JavaScript. Choices (`a|b`) are left out: sed takes the longest, JavaScript the first. */
function toPattern(text: string, isExtended: boolean, delimiter: string): string | undefined {
  let out = ''
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] ?? ''
    const isFirst = out === '' || out.endsWith('(')
    if (letter === '[') {
      const [whole] = /^\[\^?\]?[^\]]*\]/.exec(text.slice(at)) ?? []
      if (whole === undefined || /\[[:.=]|\\/.test(whole.slice(1)) || /^\[\^?\]/.test(whole)) return undefined
      out += whole.replace(/(?<=.)\[/gs, '\\[')
      at += whole.length - 1
    } else if (letter === '\\') {
      const next = text[++at] ?? ''
      if (/[(){}+?]/.test(next)) out += isExtended ? `\\${next}` : next
      else if (next === '|') return undefined
      else if (/[wWsSbB1-9nt]/.test(next)) out += `\\${next}`
      else if (/[<>]/.test(next)) out += '\\b'
      else if (/[.*[\]^$\\/"-]/.test(next) || next === delimiter) out += RegExp.escape(next)
      else return undefined
    } else if (/[(){}+?|]/.test(letter)) {
      if (isExtended && letter === '|') return undefined
      out += isExtended ? letter : `\\${letter}`
    } else if (letter === '*') out += isFirst || out === '^' ? '\\*' : '*'
    else if (letter === '^') out += isFirst ? '^' : '\\^'
    else if (letter === '$') out += at === text.length - 1 ? '$' : '\\$'
    else out += /[\w.]/.test(letter) ? letter : RegExp.escape(letter)
  }
  // A repeated group, or many repetitions, can take for ever.
  if (/\)([*+?]|\{)/.test(out) || (out.match(/(?<!\\)[*+{]/g) ?? []).length > 2) return undefined
  try {
    new RegExp(out)
    return out
  } catch {
    return undefined // no pattern here
  }
}

function toReplacement(text: string): SedStep['replacement'] | undefined {
  if (/\\[^\d&\\n\nt^/#|,@%!:_~"'$`.()[\]{}*+?-]/.test(text)) return undefined
  return groups =>
    text.replace(/\\([\s\S])|&/g, (whole, next: string | undefined) => {
      if (whole === '&') return groups[0] ?? ''
      if (next !== undefined && /\d/.test(next)) return groups[Number(next)] ?? ''
      return next === 'n' ? '\n' : next === 't' ? '\t' : (next ?? '')
    })
}
