import type { ParsedFile } from '../../base/syntax/parsed-file.ts'
import { eachToken, type KnownWords, tokensOfNames, wholeOf } from '../../base/tokens.ts'
import { putImports } from '../graph/graph-tables.ts'
import { nameId } from './history.ts'
import type { IndexFile } from './index-file.ts'
import { isOften, OFTEN_MARK } from './score.ts'
import { packSyntax, unpackSyntax } from './syntax-rows.ts'

/** A file that the index is to hold. */
export interface IndexedFile {
  path: string
  /** Empty if the content may not be what the key says: then the next update reads it again. */
  key: string
  generated: boolean
  /** Absent if only the name and the history of the file are held. */
  text?: string
  parsed?: ParsedFile
  /** Why its syntax is not known. */
  problem?: string
}

/** Stores a file in place of what the index held under its path. */
export function putFile(index: IndexFile, { path, key, generated, text, parsed, problem }: IndexedFile): void {
  const id = nameId(index, path)
  removeRows(index, id)
  const chunks = parsed && text !== undefined ? putText(index, id, text, parsed) : { first: 0, count: 0 }
  index.run(
    'insert into files (id, path, key, generated, problem, first_chunk, chunks) values (?, ?, ?, ?, ?, ?, ?)',
    ...[id, path, key, generated ? 1 : 0, problem ?? null, chunks.first, chunks.count],
  )
  index.run('insert into path (rowid, words) values (?, ?)', id, [...new Set(tokensOfNames(path))].join(' '))
}

/** The text of a file: its chunks, which have consecutive numbers, its whole body, and what it defines. Whole names are in the chunks only. */
function putText(index: IndexFile, id: number, text: string, parsed: ParsedFile): { first: number; count: number } {
  index.run('insert into syntax (id, packed) values (?, ?)', id, packSyntax(parsed))
  putImports(index, id, parsed)
  const definitions = wordsOfDefinitions(parsed, index.knownWords)
  if (definitions !== '') index.run('insert into definition (rowid, words) values (?, ?)', id, definitions)
  const last = index.row<{ next: number }>(
    'select first_chunk + chunks as next from files order by first_chunk desc limit 1',
  )
  const first = Math.max(1, last?.next ?? 1)
  const lines = text.split('\n')
  const body = new Map<string, number>()
  const known = index.knownWords
  for (const [number, { startLine, endLine, header }] of parsed.chunks.entries()) {
    const words = new Set<string>()
    const addWhole = (token: string) => words.add(token)
    const add = (token: string) => {
      words.add(token)
      body.set(token, (body.get(token) ?? 0) + 1)
    }
    eachToken(lines.slice(startLine - 1, endLine).join('\n'), add, { takeWhole: addWhole, known })
    eachToken(header, addWhole, { known })
    index.run('insert into chunk (rowid, words) values (?, ?)', first + number, [...words].join(' '))
  }
  index.run('insert into body (rowid, words) values (?, ?)', id, bagOf(body))
  // Without chunks it must not have the number of the next file.
  return { first: parsed.chunks.length > 0 ? first : 0, count: parsed.chunks.length }
}

export function removeFile(index: IndexFile, path: string): void {
  removeRows(index, nameId(index, path))
}

/** What the syntax of a file says, as it was when it was read. */
export function readParsed(index: IndexFile, id: number): ParsedFile | undefined {
  const row = index.row<{ packed: Uint8Array }>('select packed from syntax where id = ?', id)
  return row && unpackSyntax(row.packed)
}

function removeRows(index: IndexFile, id: number): void {
  const file = index.row<{ first_chunk: number; chunks: number }>(
    'select first_chunk, chunks from files where id = ?',
    id,
  )
  if (!file) return
  for (const table of ['body', 'path', 'definition', 'imports']) index.run(`delete from ${table} where rowid = ?`, id)
  for (let number = 0; number < file.chunks; number += 1)
    index.run('delete from chunk where rowid = ?', file.first_chunk + number)
  for (const table of ['files', 'syntax']) index.run(`delete from ${table} where id = ?`, id)
  index.run('delete from chunk_vectors where file_id = ?', id)
}

/** Every token once, in any order, and once more with a mark if it is frequent: that is all that a row holds (score.ts). */
function bagOf(counts: Map<string, number>): string {
  const words: string[] = []
  for (const [token, count] of counts) {
    words.push(token)
    if (isOften(count)) words.push(`${OFTEN_MARK}${token}`)
  }
  return words.join(' ')
}

/** The parts of all names that a file defines, and the names themselves behind a `=`. */
function wordsOfDefinitions({ definitions }: ParsedFile, known: KnownWords): string {
  const counts = new Map<string, number>()
  const count = (token: string) => counts.set(token, (counts.get(token) ?? 0) + 1)
  for (const { name } of definitions) eachToken(name, count, { takeWhole: () => undefined, known })
  const names = new Set(definitions.map(({ name }) => `=${wholeOf(name)}`))
  return [bagOf(counts), ...names].join(' ').trim()
}
