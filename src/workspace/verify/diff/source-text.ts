import type { Language } from './file-kind.ts'

/** A source text with versions of the same length in which comments, or comments and strings, are blanked. */
export interface Masked {
  /** The original text. */
  text: string
  /** Without comments and without the content of strings; the quotes themselves stay. */
  code: string
  /** Without comments. */
  bare: string
}

/** Blanks comments and strings, so that a word in one is never mistaken for code. It uses no grammar and never fails. */
export function mask(text: string, language: Language): Masked {
  const code = text.split('')
  const bare = text.split('')
  let at = 0
  let last = ''
  const blank = (from: number, to: number, what: 'comment' | 'string') => {
    for (let place = from; place < to && place < text.length; place++) {
      if (text[place] === '\n') continue
      code[place] = ' '
      if (what === 'comment') bare[place] = ' '
    }
  }
  while (at < text.length) {
    const comment = commentEnd(text, at, language)
    if (comment !== undefined) {
      blank(at, comment, 'comment')
      at = comment
      continue
    }
    const string = stringAt(text, at, language, last)
    if (string !== undefined) {
      blank(string.from, string.to, 'string')
      at = string.end
      last = '"'
      continue
    }
    const sign = text[at] ?? ''
    if (sign.trim() !== '') last = isWord(sign) && isWord(text[at - 1]) ? (last + sign).slice(-LONGEST_WORD) : sign
    at += 1
  }
  return { text, code: code.join(''), bare: bare.join('') }
}

/** Only as much of the previous word as is needed to tell `return` from a name. */
const LONGEST_WORD = 8

function isWord(sign: string | undefined): boolean {
  return sign !== undefined && /\w/.test(sign)
}

function commentEnd(text: string, at: number, language: Language): number | undefined {
  if (language === 'python') return text[at] === '#' ? lineEnd(text, at) : undefined
  if (text[at] !== '/') return undefined
  if (text[at + 1] === '/') return lineEnd(text, at)
  if (text[at + 1] !== '*') return undefined
  if (language !== 'rust') return endAfter(text, '*/', at + 2)
  let depth = 1
  let place = at + 2
  for (; place < text.length && depth > 0; place++) {
    if (text.startsWith('/*', place)) depth += 1
    else if (text.startsWith('*/', place)) depth -= 1
    else continue
    place += 1
  }
  return place
}

interface Quoted {
  /** The range that is blanked. */
  from: number
  to: number
  /** Where the code continues. */
  end: number
}

function stringAt(text: string, at: number, language: Language, last: string): Quoted | undefined {
  const sign = text[at] ?? ''
  if (language === 'rust') return rustString(text, at, last)
  if (language === 'python' && (text.startsWith('"""', at) || text.startsWith("'''", at))) {
    const end = endAfter(text, text.slice(at, at + 3), at + 3)
    return { from: at + 3, to: end - 3, end }
  }
  if (sign === '"' || sign === "'") return quoted(text, at, sign)
  if (sign === '`' && language === 'go') {
    const end = endAfter(text, '`', at + 1)
    return { from: at + 1, to: end - 1, end }
  }
  if (sign === '`' && language === 'javascript') return quoted(text, at, '`', true)
  if (sign === '/' && language === 'javascript' && mayBeginPattern(last)) return pattern(text, at)
  return undefined
}

/** `'a` is a lifetime, `'a'` a character; `r#"…"#` ends at its own delimiter. */
function rustString(text: string, at: number, last: string): Quoted | undefined {
  const raw = /^b?r(#{0,8})"/.exec(text.slice(at, at + 12))
  if (raw && !/\w/.test(last)) {
    const end = endAfter(text, `"${raw[1]}`, at + raw[0].length)
    return { from: at + raw[0].length, to: end - 1 - (raw[1]?.length ?? 0), end }
  }
  if (text[at] === '"') return quoted(text, at, '"', true)
  if (text[at] !== "'") return undefined
  const letter = /^'(\\.[^']{0,10}|[^\\'])'/u.exec(text.slice(at, at + 16))
  return letter ? { from: at + 1, to: at + letter[0].length - 1, end: at + letter[0].length } : undefined
}

function quoted(text: string, at: number, sign: string, many = false): Quoted {
  let place = at + 1
  for (; place < text.length; place++) {
    if (text[place] === '\\') place += 1
    else if (text[place] === sign || (!many && text[place] === '\n')) break
  }
  return { from: at + 1, to: place, end: place + 1 }
}

/** After a value a slash divides; after an operator or at the start it begins a regular expression. */
function mayBeginPattern(last: string): boolean {
  return last === '' || /^[(,=:[!&|?{};+\-*%<>~^]$/.test(last) || /^(return|typeof|case|in|of|await|throw)$/.test(last)
}

function pattern(text: string, at: number): Quoted | undefined {
  let inClass = false
  for (let place = at + 1; place < text.length && text[place] !== '\n'; place++) {
    const sign = text[place]
    if (sign === '\\') place += 1
    else if (sign === '[') inClass = true
    else if (sign === ']') inClass = false
    else if (sign === '/' && !inClass) return { from: at + 1, to: place, end: place + 1 }
  }
  return undefined
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end
}

function endAfter(text: string, what: string, from: number): number {
  const end = text.indexOf(what, from)
  return end < 0 ? text.length : end + what.length
}

const CLOSES: Record<string, string> = { '(': ')', '[': ']', '{': '}' }

/** The position after the bracket that closes the one at `open`, in masked code; the end of the text where none does. */
export function closingOf(code: string, open: number): number {
  const expected: string[] = []
  const end = Math.min(code.length, open + LONGEST_BLOCK)
  for (let at = open; at < end; at++) {
    const sign = code[at] ?? ''
    const closing = CLOSES[sign]
    if (closing !== undefined) expected.push(closing)
    else if (sign === expected.at(-1)) {
      expected.pop()
      if (expected.length === 0) return at + 1
    }
  }
  return end
}

/** No person writes a longer block; brackets that are never closed must not take quadratic time. */
const LONGEST_BLOCK = 100_000

/** The parts between commas within a range, as positions: `[from, to]` of each part. */
export function partsOf(code: string, from: number, to: number): [number, number][] {
  const parts: [number, number][] = []
  let begin = from
  let depth = 0
  for (let at = from; at < to; at++) {
    const sign = code[at] ?? ''
    if (sign in CLOSES) depth += 1
    else if (/[)\]}]/.test(sign)) depth -= 1
    else if (sign === ',' && depth === 0) {
      parts.push([begin, at])
      begin = at + 1
    }
  }
  if (code.slice(begin, to).trim() !== '') parts.push([begin, to])
  return parts
}

/** The line of a position, from 1. */
export function lineAt(text: string, place: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < place; at = text.indexOf('\n', at + 1)) line += 1
  return line
}
