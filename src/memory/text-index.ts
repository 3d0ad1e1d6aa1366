import { checksum } from '../base/ids.ts'
import { joinTokens, queryTokens } from '../base/tokens.ts'
import { type MemoryItem, type MemoryReader, mayReadMemory } from '../domain/memory.ts'
import type { DerivedFile } from '../store/derived-file.ts'

/** The words of items. `keys` holds who may see an item and its kind, so that nothing else is looked at. */
export const TEXT_TABLES = [
  `create virtual table texts using fts5(words, keys, content = '', contentless_delete = 1, tokenize = "ascii")`,
  // Words are written to the index when so many bytes of them have come together: the fewer times, the less is merged later.
  `insert into texts (texts, rank) values ('hashsize', 8000000)`,
]

/** Indexes an item in the place of what its row had before. Inside of a transaction. `known` saves time over many calls. */
export function indexItem(
  file: DerivedFile,
  { rowid, item, isNew }: { rowid: number; item: MemoryItem; isNew: boolean },
  known: Map<string, string>,
): void {
  if (!isNew) removeWords(file, rowid)
  const { text, scope, of, kind } = item
  const keys = `${scopeKey(scope, of)} ${kindKey(kind)}`
  file.run('insert into texts (rowid, words, keys) values (?, ?, ?)', rowid, joinTokens(text, known), keys)
}

/** Removes the words of an item, and the vector that was made of them. */
export function removeWords(file: DerivedFile, rowid: number): void {
  file.run('delete from texts where rowid = ?', rowid)
  file.run('delete from vectors where rowid = ?', rowid)
}

/** Index pages that one call of `eraseRemoved` writes: some milliseconds. */
const ERASED_PAGES = 100

/**
 * Writes a part of the index anew without the rows that were removed, whose words it holds until then. True at the end. `isFirst`: rows were
 * removed since it began. Inside of a transaction.
 */
export function eraseRemoved(file: DerivedFile, { isFirst }: { isFirst: boolean }): boolean {
  const changes = () => file.row<{ count: number }>('select total_changes() as count')?.count ?? 0
  const before = changes()
  file.run(`insert into texts (texts, rank) values ('merge', ?)`, isFirst ? -ERASED_PAGES : ERASED_PAGES)
  return changes() - before < 2
}

export interface TextQuery {
  text: string
  reader: MemoryReader
  kinds?: readonly MemoryItem['kind'][] | undefined
  /** What the words beside an episode count, while its own count 1. */
  around: number
  limit: number
}

/** A row, and how well it fits. */
interface ScoredRow {
  rowid: number
  score: number
}

/** More words than a question has. */
const MOST_TOKENS = 40
/** Words that occur in more rows than this, all together, are left out: they say the least and take the longest. */
const MOST_ROWS = 2_500

/** The rows that have words of a text, with their BM25, the best first. */
export function matchText(file: DerivedFile, { text, reader, kinds, around, limit }: TextQuery): ScoredRow[] {
  const tokens = chooseTokens(file, queryTokens(text).slice(0, MOST_TOKENS))
  if (tokens.length === 0) return []
  const any = (words: readonly string[]) => words.map(word => `"${word}"`).join(' OR ')
  const parts = [
    ...(reader.agent === 'person' ? [] : [`keys : (${any(keysOf(reader))})`]),
    ...(kinds ? [`keys : (${any(kinds.map(kindKey))})`] : []),
    `words : (${any(tokens)})`,
  ]
  const found = file.rows<ScoredRow & { talk: string | null }>(
    `select f.rowid, f.score, i.talk from (select rowid, -rank as score from texts
       where texts match ? and rank match 'bm25(1.0, 0.0)' order by rank limit ?) f join items i on i.rowid = f.rowid`,
    ...[parts.join(' AND '), limit],
  )
  return around === 0 ? found : addBeside(file, found, around).slice(0, limit)
}

/** So many episodes before one and after it belong to it. */
const BEFORE = 2
const AFTER = 1

/**
 * Lends the score of each episode to those beside it in its session: in a conversation the turn with the answer often shares no word with the
 * question, because it answers the turn before. Squares are added, so that one good neighbour counts more than several poor ones. Rows are
 * numbered in the order of the log.
 */
function addBeside(
  file: DerivedFile,
  found: readonly (ScoredRow & { talk: string | null })[],
  around: number,
): ScoredRow[] {
  const squares = new Map(found.map(({ rowid, score }) => [rowid, score ** 2]))
  for (const { rowid, score, talk } of found) {
    if (talk === null) continue
    const beside = file.rows<{ rowid: number }>(
      `select rowid from (select rowid from items where talk = ? and rowid < ? order by rowid desc limit ${AFTER})
       union all select rowid from (select rowid from items where talk = ? and rowid > ? order by rowid limit ${BEFORE})`,
      ...[talk, rowid, talk, rowid],
    )
    for (const other of beside) squares.set(other.rowid, (squares.get(other.rowid) ?? 0) + around * score ** 2)
  }
  const scored = [...squares].map(([rowid, square]) => ({ rowid, score: Math.sqrt(square) }))
  return scored.toSorted((a, b) => b.score - a.score)
}

/**
 * The conversation that an episode is a turn of; null for whatever has no neighbours. Only what the same readers see is beside one another: who may not
 * read an episode must not find out its words by the others.
 */
export function talkOf({ kind, session, scope, of, acl }: MemoryItem): string | null {
  return kind === 'episode' && session !== null && acl.roles.length === 0 ? JSON.stringify([session, scope, of]) : null
}

/** The words that occur and are not too common, the rarest first. */
function chooseTokens(file: DerivedFile, tokens: readonly string[]): string[] {
  const count = 'select count(*) as rows from (select 1 from texts where texts match ? limit ?)'
  const known = tokens
    .map(token => ({ token, rows: file.row<{ rows: number }>(count, `"${token}"`, MOST_ROWS + 1)?.rows ?? 0 }))
    .filter(({ rows }) => rows > 0)
    .toSorted((a, b) => a.rows - b.rows)
  let left = MOST_ROWS
  return known.flatMap(({ token, rows }, at) => {
    left -= rows
    return left >= 0 || at === 0 ? [token] : []
  })
}

/** What an agent has shared is seen by others: rows of that scope are checked afterwards. */
function keysOf({ session, projects }: MemoryReader): string[] {
  const scopes = [scopeKey('global', ''), scopeKey('agent', ''), ...projects.map(key => scopeKey('project', key))]
  return session === null ? scopes : [...scopes, scopeKey('session', session)]
}

function scopeKey(scope: MemoryItem['scope'], of: string): string {
  return scope === 'agent' ? 'scopeagent' : `scope${checksum(`${scope} ${of}`)}`
}

function kindKey(kind: MemoryItem['kind']): string {
  return `kind${kind.replaceAll('_', '')}`
}

/** Vectors of episodes by their rows; an empty one stands for text that the provider may not see. */
export const VECTOR_TABLES = ['create table vectors (rowid integer primary key, vector blob not null)']

/** So many of the newest episodes of a project have vectors: all of them are compared with a question, one by one. */
const MOST_VECTORS = 2_000
/** With a smaller cosine two texts have nothing to do with one another, by any model that we know. */
const LEAST_NEAR = 0.6
const MOST_NEAR = 3
const MODEL = 'vector_model'

/** An episode without a vector. */
export interface Unembedded {
  rowid: number
  text: string
}

/** The model that made the vectors; undefined while there are none. */
export function vectorModel(file: DerivedFile): string | undefined {
  return file.readMeta(MODEL)
}

/** Episodes of a project that have no vector yet, the newest first. What comes from outside is never shown, and needs none. */
export function findUnembedded(file: DerivedFile, project: string, most: number): Unembedded[] {
  const rows = file.rows<{ rowid: number; body: string }>(
    `select i.rowid, i.body from (${NEWEST}) n join items i on i.rowid = n.rowid
     where not exists (select 1 from vectors v where v.rowid = n.rowid) and json_extract(i.body, '$.authority') <> 'external' limit ?`,
    project,
    most,
  )
  return rows.map(({ rowid, body }) => ({ rowid, text: (JSON.parse(body) as MemoryItem).text }))
}

const NEWEST = `select rowid from items where scope = 'project' and "of" = ? and kind = 'episode' order by updated_at desc limit ${MOST_VECTORS}`

/** Stores vectors. Those of another model are forgotten, and an episode whose text has changed meanwhile gets none. Inside of a transaction. */
export function storeVectors(
  file: DerivedFile,
  model: string,
  made: readonly (Unembedded & { vector: readonly number[] | null })[],
): void {
  if (vectorModel(file) !== model) file.run('delete from vectors')
  file.writeMeta(MODEL, model)
  for (const { rowid, text, vector } of made) {
    const row = file.row<{ body: string }>('select body from items where rowid = ?', rowid)
    if (!row || (JSON.parse(row.body) as MemoryItem).text !== text) continue
    file.run('insert or replace into vectors values (?, ?)', rowid, blobOf(vector ?? []))
  }
}

/** The episodes that are nearest to a vector and that a reader may see, with their cosine; none that is far. */
export function findNear(
  file: DerivedFile,
  { reader, vector }: { reader: MemoryReader; vector: readonly number[] },
): { item: MemoryItem; near: number }[] {
  const query = toUnit(vector)
  const compared = reader.projects.flatMap(project =>
    file.rows<{ rowid: number; vector: Uint8Array }>(
      `select v.rowid, v.vector from (${NEWEST}) n join vectors v on v.rowid = n.rowid`,
      project,
    ),
  )
  return compared
    .map(({ rowid, vector: stored }) => ({ rowid, near: cosine(query, stored) }))
    .filter(({ near }) => near >= LEAST_NEAR)
    .toSorted((a, b) => b.near - a.near)
    .slice(0, 10 * MOST_NEAR)
    .flatMap(({ rowid, near }) => {
      const row = file.row<{ body: string }>('select body from items where rowid = ? and ended_at is null', rowid)
      const item = row && (JSON.parse(row.body) as MemoryItem)
      return item && mayReadMemory(item, reader) ? [{ item, near }] : []
    })
    .slice(0, MOST_NEAR)
}

/** Scales a vector to length one, so that the cosine of two vectors is their product. */
function toUnit(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector)
  return Float32Array.from(vector, value => (length === 0 ? 0 : value / length))
}

function blobOf(vector: readonly number[]): Uint8Array {
  return new Uint8Array(toUnit(vector).buffer)
}

function cosine(query: Float32Array, stored: Uint8Array): number {
  if (stored.byteLength !== query.byteLength) return 0
  const other = new Float32Array(stored.slice().buffer)
  return query.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0)
}
