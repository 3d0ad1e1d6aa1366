import type { IndexFile } from './index-file.ts'

/** Where words are indexed. `history` has a row for each commit, `chunk` several for a file, the others one for a file. */
export type WordTable = 'body' | 'chunk' | 'path' | 'definition' | 'history'

export interface ScoredRow {
  id: number
  score: number
}

/** Rows that are ranked by their length, too. What comes after so many would not reach the first ten. */
const MOST_ROWS = 200
/** A word in more than this share of the rows says too little to bring a row in by itself; it still adds to rows that have others. */
const COMMON_SHARE = 0.15

/** The usual constants of BM25. Rows hold whether a word is there, and whether it is there often: two steps of the usual curve. */
const K1 = 1.2
const B = 0.75
const OFTEN = 3
export const OFTEN_MARK = '+'
const ONCE_SHARE = 1
const OFTEN_SHARE = 0.55

/** Whether a word that occurs so often in a row is marked as frequent there. */
export function isOften(count: number): boolean {
  return count >= OFTEN
}

/** Reads the rows of a table that contain a token, in ascending order. */
export type ReadRows = (table: WordTable, token: string) => readonly number[]

/** Reads rows and remembers them while a query is answered, because several steps ask for the same. */
export function openRows(index: IndexFile): ReadRows {
  const known = new Map<string, readonly number[]>()
  return (table, token) => {
    const key = `${table} ${token}`
    const rows = known.get(key) ?? readRows(index, table, token)
    known.set(key, rows)
    return rows
  }
}

interface ScoreOptions {
  read?: ReadRows
  /** Rows that count; all of them without it. */
  isWanted?: ((id: number) => boolean) | undefined
}

/**
 * The BM25 scores of the rows of one table that contain any of the tokens, the best first. SQLite holds only which rows contain which
 * token (`detail = none`: about a third of the size), so the sum is made here.
 */
export function scoreRows(
  index: IndexFile,
  table: WordTable,
  tokens: readonly string[],
  { read = openRows(index), isWanted }: ScoreOptions = {},
): ScoredRow[] {
  const { rows, words } = readSizes(index, table)
  if (rows === 0) return []
  const postings = tokens
    .map(token => ({ token, ids: read(table, token) }))
    .filter(({ ids }) => ids.length > 0)
    .sort((a, b) => a.ids.length - b.ids.length)
  const scores = new Float64Array(1 + Math.max(0, ...postings.map(({ ids }) => ids.at(-1) ?? 0)))
  let found = 0
  for (const { token, ids } of postings) {
    const idf = Math.log(1 + (rows - ids.length + 0.5) / (ids.length + 0.5))
    const isNew = ids.length <= rows * COMMON_SHARE || found < MOST_ROWS
    for (const id of ids) {
      const before = scores[id] ?? 0
      if (before === 0 && (!isNew || isWanted?.(id) === false)) continue
      if (before === 0) found += 1
      scores[id] = before + ONCE_SHARE * idf
    }
    if (table !== 'body' && table !== 'definition') continue
    for (const id of read(table, `${OFTEN_MARK}${token}`)) {
      const before = scores[id] ?? 0
      if (before > 0) scores[id] = before + OFTEN_SHARE * idf
    }
  }
  const best = bestRows(scores)
  const lengths = readLengths(index, table, best)
  const average = words / rows
  return best
    .map(id => ({
      id,
      score: ((scores[id] ?? 0) * (K1 + 1)) / (1 + K1 * (1 - B + (B * (lengths.get(id) ?? average)) / average)),
    }))
    .sort((a, b) => b.score - a.score)
}

/** The rows with the highest scores. Numbers are sorted several times faster than pairs, and loops are faster than iterators. */
function bestRows(scores: Float64Array): number[] {
  const ids: number[] = []
  for (let id = 0; id < scores.length; id += 1) if (scores[id] !== 0) ids.push(id)
  const least = Float64Array.from(ids, id => scores[id] ?? 0).sort()[Math.max(0, ids.length - MOST_ROWS)] ?? 0
  return ids
    .filter(id => (scores[id] ?? 0) >= least)
    .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0))
    .slice(0, MOST_ROWS)
}

/** Every row that contains a token. One string of numbers is several times faster than one object for each. */
function readRows(index: IndexFile, table: WordTable, token: string): number[] {
  // Tokens never contain a quote.
  const sql = `select group_concat(rowid) as ids from ${table} where ${table} match ?`
  const text = index.row<{ ids: string | null }>(sql, `"${token}"`)?.ids ?? ''
  const ids: number[] = []
  let id = 0
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - 48
    if (digit >= 0) id = id * 10 + digit
    else {
      ids.push(id)
      id = 0
    }
  }
  if (text !== '') ids.push(id)
  return ids
}

/** FTS5 keeps the number of tokens of each row, and their sum, as varints. */
function readLengths(index: IndexFile, table: WordTable, ids: readonly number[]): Map<number, number> {
  const rows = index.rows<{ id: number; sz: Uint8Array }>(
    `select id, sz from ${table}_docsize where id in (select value from json_each(?))`,
    JSON.stringify(ids),
  )
  return new Map(rows.map(({ id, sz }) => [id, readVarints(sz)[0] ?? 0]))
}

function readSizes(index: IndexFile, table: WordTable): { rows: number; words: number } {
  const row = index.row<{ block: Uint8Array }>(`select block from ${table}_data where id = 1`)
  const [rows = 0, words = 0] = row ? readVarints(row.block) : []
  return { rows, words }
}

function readVarints(bytes: Uint8Array): number[] {
  const numbers: number[] = []
  let value = 0
  for (const byte of bytes) {
    value = value * 128 + (byte & 127)
    if (byte >= 128) continue
    numbers.push(value)
    value = 0
  }
  return numbers
}
