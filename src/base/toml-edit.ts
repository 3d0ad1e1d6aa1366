import { isDeepStrictEqual } from 'node:util'
import { stringify } from 'smol-toml'
import { parseToml, scanToml, type TomlEntry, type TomlScan, type TomlTable } from './toml.ts'

export type TomlValue = string | number | boolean | string[]

/**
 * The text with one key set and everything else as the person wrote it: order, comments, blank lines. Each way to write
 * the key is tried and parsed again. Returns the first one that means exactly "this key has this value and nothing else
 * changed", or undefined.
 */
export function setInToml(text: string, path: string[], value: TomlValue): string | undefined {
  const before = parseToml(text)
  if (!before.ok) return undefined
  const expected = withValue(before.table, path, value)
  return findMatching(expected, waysToSet(text, path, formatToml(value)))
}

/** The text without one key; undefined if it cannot be removed safely. */
export function removeFromToml(text: string, path: string[]): string | undefined {
  const before = parseToml(text)
  if (!before.ok) return undefined
  return findMatching(withValue(before.table, path, undefined), waysToRemove(text, path))
}

/** Formats a value as TOML. */
export function formatToml(value: TomlValue): string {
  return stringify({ value }).trim().slice('value = '.length)
}

function* waysToSet(text: string, path: string[], written: string): Generator<string> {
  const scan = scanToml(text)
  const parent = path.slice(0, -1)
  const name = path.at(-1) ?? ''
  const line = `${name} = ${written}`

  const present = scan.entries.find(entry => isDeepStrictEqual(entry.path, path))
  if (present) yield replaceValue(text, present, scan, written)

  const header = scan.headers.findLast(({ path }) => isDeepStrictEqual(path, parent))
  if (header) {
    const last = findLastEntry(scan, header.path)
    yield insertLine(text, last ? last.valueEnd : header.end, (last ? indentOf(text, last) : '') + line)
  }

  const inline = scan.entries.find(entry => isDeepStrictEqual(entry.path, parent) && text[entry.valueStart] === '{')
  if (inline) yield insertInline(text, inline, scan, line)

  // `ollama.model = "x"` under [brain] already defines the table; a header for it would define it twice.
  const sibling = scan.entries.findLast(
    entry => !entry.inline && entry.path.length > parent.length && startsWith(entry.path, parent),
  )
  if (sibling) {
    const key = [...parent.slice(sibling.table.length), name].join('.')
    yield insertLine(text, sibling.valueEnd, `${indentOf(text, sibling)}${key} = ${written}`)
  }

  yield appendLines(text, [`[${parent.join('.')}]`, line])
}

function* waysToRemove(text: string, path: string[]): Generator<string> {
  const { entries } = scanToml(text)
  const entry = entries.find(candidate => isDeepStrictEqual(candidate.path, path))
  if (!entry) {
    yield text
    return
  }
  const { keyStart, valueEnd } = entry
  if (!entry.inline) {
    const next = text.indexOf('\n', valueEnd)
    yield text.slice(0, text.lastIndexOf('\n', keyStart - 1) + 1) + (next === -1 ? '' : text.slice(next + 1))
    return
  }
  const after = text.slice(valueEnd)
  yield text.slice(0, keyStart) + after.replace(/^\s*,\s*/, '')
  yield text.slice(0, keyStart).replace(/\s*,\s*$/, ' ') + after.replace(/^\s*/, '')
}

/** Comments inside a replaced list move above its key, so that none is lost. */
function replaceValue(text: string, entry: TomlEntry, scan: TomlScan, written: string): string {
  const inside = scan.comments.filter(({ start, end }) => start >= entry.valueStart && end <= entry.valueEnd)
  const indent = indentOf(text, entry)
  const kept = entry.inline
    ? ''
    : inside.map(({ start, end }) => text.slice(start, end) + newlineOf(text) + indent).join('')
  return (
    text.slice(0, entry.keyStart) +
    kept +
    text.slice(entry.keyStart, entry.valueStart) +
    written +
    text.slice(entry.valueEnd)
  )
}

function insertLine(text: string, after: number, line: string): string {
  const end = text.indexOf('\n', after)
  const newline = newlineOf(text)
  if (end === -1) return `${text}${newline}${line}${newline}`
  return text.slice(0, end + 1) + line + newline + text.slice(end + 1)
}

function insertInline(text: string, table: TomlEntry, scan: TomlScan, line: string): string {
  const last = scan.entries.findLast(entry => entry.inline && startsWith(entry.path, table.path))
  if (!last) return `${text.slice(0, table.valueStart)}{ ${line} }${text.slice(table.valueEnd)}`
  return `${text.slice(0, last.valueEnd)}, ${line}${text.slice(last.valueEnd)}`
}

function appendLines(text: string, lines: string[]): string {
  const newline = newlineOf(text)
  const blank = text.trim() === '' ? '' : newline
  const complete = text === '' || text.endsWith('\n') ? text : text + newline
  return complete + blank + lines.join(newline) + newline
}

function findLastEntry(scan: TomlScan, table: string[]): TomlEntry | undefined {
  return scan.entries.findLast(entry => !entry.inline && isDeepStrictEqual(entry.table, table))
}

function indentOf(text: string, entry: TomlEntry): string {
  return text.slice(text.lastIndexOf('\n', entry.keyStart - 1) + 1, entry.keyStart).replace(/[^ \t]/g, '')
}

function newlineOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

function startsWith(path: string[], prefix: string[]): boolean {
  return prefix.every((part, index) => path[index] === part)
}

/** The first text that parses to the expected values. */
function findMatching(expected: unknown, ways: Iterable<string>): string | undefined {
  for (const text of ways) {
    const parsed = parseToml(text)
    if (parsed.ok && isDeepStrictEqual(normalise(parsed.table), normalise(expected))) return text
  }
  return undefined
}

function withValue(table: TomlTable, path: string[], value: TomlValue | undefined): TomlTable {
  const [name = '', ...rest] = path
  const { [name]: old, ...others } = table
  if (rest.length > 0) return { ...others, [name]: withValue(isTable(old) ? old : {}, rest, value) }
  return value === undefined ? others : { ...others, [name]: value }
}

/** Removes empty tables, which mean nothing, and the parser's prototypes. */
function normalise(value: unknown): unknown {
  if (!isTable(value)) return value
  const entries = Object.entries(value).map(([name, item]) => [name, normalise(item)] as const)
  return Object.fromEntries(entries.filter(([, item]) => !isTable(item) || Object.keys(item).length > 0))
}

export function isTable(value: unknown): value is TomlTable {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}
