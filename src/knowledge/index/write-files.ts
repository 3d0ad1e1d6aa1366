import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { ParsedFile } from '../../base/syntax/parsed-file.ts'
import { putImports, removeImports } from '../graph/graph-tables.ts'
import type { IndexFile } from './index-file.ts'
import { countTokens, tokensOfNames, wholeOf } from './tokens.ts'

/** A chunk's rowid is its file's id times this, plus its number. */
export const CHUNKS_PER_FILE = 4096

/** A file that the index is to hold. */
export interface IndexedFile {
  path: string
  /** Empty if the content may not be what the key says: then the next update reads it again. */
  key: string
  holds: 'text' | 'name'
  generated: boolean
  /** Only with `text`. */
  text?: string
  parsed?: ParsedFile
  /** Why its syntax is not known. */
  problem?: string
}

/** Stores a file in place of what the index held under its path. */
export function putFile(index: IndexFile, file: IndexedFile): void {
  const { path, key, holds, generated, parsed, problem } = file
  removeWords(index, path)
  const syntax = parsed ? deflateRawSync(JSON.stringify(parsed), { level: 4 }) : null
  index.run(
    `insert into files (path, key, holds, generated, problem, parsed) values (?, ?, ?, ?, ?, ?)
     on conflict (path) do update set key = excluded.key, holds = excluded.holds, generated = excluded.generated,
       problem = excluded.problem, parsed = excluded.parsed`,
    ...[path, key, holds, generated ? 1 : 0, problem ?? null, syntax],
  )
  const id = index.row<{ id: number }>('select id from files where path = ?', path)?.id ?? 0
  index.run('insert into path (rowid, words) values (?, ?)', id, wordsOfPath(path))
  if (file.text === undefined || !parsed) return
  putImports(index, id, parsed)
  const definitions = wordsOfDefinitions(parsed)
  if (definitions !== '') index.run('insert into definition (rowid, words) values (?, ?)', id, definitions)
  const lines = file.text.split('\n')
  const whole = new Map<string, number>()
  for (const [number, chunk] of parsed.chunks.slice(0, CHUNKS_PER_FILE).entries()) {
    const counts = countTokens(lines.slice(chunk.startLine - 1, chunk.endLine).join('\n'))
    for (const [token, count] of counts) whole.set(token, (whole.get(token) ?? 0) + count)
    countTokens(chunk.header, counts)
    index.run('insert into chunk (rowid, words) values (?, ?)', id * CHUNKS_PER_FILE + number, bagOf(counts))
  }
  index.run('insert into body (rowid, words) values (?, ?)', id, bagOf(whole))
}

export function removeFile(index: IndexFile, path: string): void {
  removeWords(index, path)
  index.run('delete from files where path = ?', path)
}

/** What the syntax of a file says, as it was when it was read. */
export function readParsed(index: IndexFile, id: number): ParsedFile | undefined {
  const row = index.row<{ parsed: Uint8Array | null }>('select parsed from files where id = ?', id)
  return row?.parsed ? (JSON.parse(inflateRawSync(row.parsed).toString()) as ParsedFile) : undefined
}

function removeWords(index: IndexFile, path: string): void {
  const id = index.row<{ id: number }>('select id from files where path = ?', path)?.id
  if (id === undefined) return
  for (const table of ['body', 'path', 'definition']) index.run(`delete from ${table} where rowid = ?`, id)
  const first = id * CHUNKS_PER_FILE
  const parsed = readParsed(index, id)
  if (parsed) removeImports(index, id, parsed)
  const chunks = parsed?.chunks.length ?? 0
  for (let number = 0; number < Math.min(chunks, CHUNKS_PER_FILE); number += 1)
    index.run('delete from chunk where rowid = ?', first + number)
}

/**
 * The tokens in any order, each repeated less often than it occurs: the second occurrence says more than the thirtieth, a long file
 * must not win by its length, and the index becomes smaller.
 */
function bagOf(counts: Map<string, number>): string {
  const words: string[] = []
  for (const [token, count] of counts) {
    const times = 1 + Math.ceil(Math.log2(count))
    for (let n = 0; n < times; n += 1) words.push(token)
  }
  return words.join(' ')
}

function wordsOfPath(path: string): string {
  return tokensOfNames(path).join(' ')
}

/** The names of everything that a file defines, also as they are, behind a `=`. */
function wordsOfDefinitions({ definitions }: ParsedFile): string {
  const counts = new Map<string, number>()
  for (const { name } of definitions) countTokens(name, counts)
  const names = new Set(definitions.map(({ name }) => `=${wholeOf(name)}`))
  return [bagOf(counts), ...names].join(' ')
}
