import { parse, TomlError } from 'smol-toml'
import { messageOf } from './errors.ts'

export type TomlTable = Record<string, unknown>
export type ParsedToml = { ok: true; table: TomlTable } | { ok: false; line: number; problem: string }

/** Parses a TOML text into plain values, or says where and why it is not valid. */
export function parseToml(text: string): ParsedToml {
  try {
    return { ok: true, table: parse(withoutMark(text), { maxDepth: 50, unsafeKeyBehaviour: 'throw' }) }
  } catch (thrown) {
    if (thrown instanceof TomlError) return { ok: false, line: thrown.line, problem: firstLine(thrown.message) }
    return { ok: false, line: 1, problem: messageOf(thrown) }
  }
}

/** The line of each key and table of a valid text, by dotted path. */
export function tomlLines(text: string): Map<string, number> {
  const lines = new Map<string, number>()
  const { entries, headers } = scanToml(text)
  for (const { path, line } of [...headers, ...entries].sort((a, b) => a.line - b.line)) {
    for (let depth = 1; depth <= path.length; depth++) {
      const key = path.slice(0, depth).join('.')
      if (!lines.has(key)) lines.set(key, line)
    }
  }
  return lines
}

/** Some editors write a byte order mark at the beginning. */
function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

function firstLine(message: string): string {
  const line = message.split('\n')[0] ?? message
  return line.replace(/^Invalid TOML document: /, '')
}

export interface TomlEntry {
  path: string[]
  /** The path of the header above the entry; the rest of `path` is written in the key. */
  table: string[]
  line: number
  /** Offsets in the text: of the key, and of the value's first and one past its last character. */
  keyStart: number
  valueStart: number
  valueEnd: number
  /** Set for a key inside `{ … }`. */
  inline: boolean
}

export interface TomlHeader {
  path: string[]
  line: number
  /** Offset one past the closing bracket. */
  end: number
}

export interface TomlScan {
  entries: TomlEntry[]
  headers: TomlHeader[]
  /** Spans of all comments. */
  comments: { start: number; end: number }[]
}

/**
 * Finds the position of each key and value of a TOML text. The text must be valid: this function checks nothing. It
 * exists because the parser returns values without positions, and both a good error message and an edit that keeps a
 * person's comments need positions.
 */
export function scanToml(text: string): TomlScan {
  const scan: TomlScan = { entries: [], headers: [], comments: [] }
  let at = text.startsWith('\uFEFF') ? 1 : 0
  let table: string[] = []

  for (skipBlank(); at < text.length; skipBlank()) {
    if (text[at] === '[') readHeader()
    else readEntry(table, false)
  }
  return scan

  function readHeader(): void {
    const start = at
    while (text[at] === '[') at++
    table = readPath()
    while (text[at] === ']') at++
    scan.headers.push({ path: table, line: lineAt(text, start), end: at })
  }

  function readEntry(inside: string[], inline: boolean): void {
    const keyStart = at
    const path = [...inside, ...readPath()]
    at++ // the equals sign
    skipSpaces()
    const entry = { path, table, line: lineAt(text, keyStart), keyStart, valueStart: at, valueEnd: at, inline }
    scan.entries.push(entry)
    skipValue(path)
    entry.valueEnd = at
  }

  /** Reads `a . "b c".d` up to the character that ends the path. */
  function readPath(): string[] {
    const path: string[] = []
    for (skipSpaces(); at < text.length && !/[=\]\n]/.test(text.charAt(at)); skipSpaces()) {
      if (text[at] === '.') at++
      else path.push(readName())
    }
    return path
  }

  function readName(): string {
    const start = at
    if (text[at] === '"' || text[at] === "'") {
      skipString()
      const quoted = text.slice(start, at)
      return quoted.startsWith('"') ? unescapeKey(quoted) : quoted.slice(1, -1)
    }
    while (at < text.length && /[\w-]/.test(text.charAt(at))) at++
    if (at === start) at++ // always advance, whatever the text
    return text.slice(start, at)
  }

  function skipValue(path: string[]): void {
    const sign = text[at]
    if (sign === '"' || sign === "'") skipString()
    else if (sign === '[') skipArray(path)
    else if (sign === '{') skipInlineTable(path)
    else skipBare()
  }

  function skipBare(): void {
    while (at < text.length && !/[,\]}#\n\r]/.test(text.charAt(at))) at++
    while (/[ \t]/.test(text.charAt(at - 1))) at--
  }

  function skipArray(path: string[]): void {
    at++
    for (skipBlank(); at < text.length && text[at] !== ']'; skipBlank()) {
      if (text[at] === ',') at++
      else skipValue(path)
    }
    at++
  }

  function skipInlineTable(path: string[]): void {
    at++
    for (skipBlank(); at < text.length && text[at] !== '}'; skipBlank()) {
      if (text[at] === ',') at++
      else readEntry(path, true)
    }
    at++
  }

  function skipString(): void {
    const quote = text.charAt(at)
    const isMultiLine = text.startsWith(quote.repeat(3), at)
    const end = isMultiLine ? quote.repeat(3) : quote
    at += end.length
    while (at < text.length && !text.startsWith(end, at)) at += quote === '"' && text[at] === '\\' ? 2 : 1
    at += end.length
    // A multi-line string may end with one or two quotes of its own before the closing three.
    while (isMultiLine && text[at] === quote) at++
  }

  function skipSpaces(): void {
    while (text[at] === ' ' || text[at] === '\t') at++
  }

  function skipBlank(): void {
    while (at < text.length) {
      if (/\s/.test(text.charAt(at))) at++
      else if (text[at] === '#') skipComment()
      else return
    }
  }

  function skipComment(): void {
    const start = at
    while (at < text.length && text[at] !== '\n' && text[at] !== '\r') at++
    scan.comments.push({ start, end: at })
  }
}

function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++
  return line
}

/** Most quoted keys are plain; the rest are read as JSON, which shares TOML's common escapes. */
function unescapeKey(quoted: string): string {
  try {
    return JSON.parse(quoted) as string
  } catch {
    return quoted.slice(1, -1)
  }
}
