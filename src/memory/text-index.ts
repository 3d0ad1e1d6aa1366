import { checksum } from '../base/ids.ts'
import { eachToken, type KnownWords, queryTokens } from '../base/tokens.ts'
import type { MemoryItem, MemoryReader } from '../domain/memory.ts'
import type { DerivedFile } from '../store/derived-file.ts'

/**
 * The words of items. An episode is indexed with the episodes of its session beside it: in a conversation the turn with the answer often
 * shares no word with the question, because it answers the turn before. `keys` holds who may see an item and its kind, so that nothing else
 * is looked at.
 */
export const TEXT_TABLES = [
  `create virtual table texts using fts5(words, around, keys, content = '', contentless_delete = 1, tokenize = "ascii")`,
  // Words are written to the index when so many bytes of them have come together: the fewer times, the less is merged later.
  `insert into texts (texts, rank) values ('hashsize', 8000000)`,
]

/** An item and the row that it has. */
export interface ItemRow {
  rowid: number
  item: MemoryItem
  isNew: boolean
}

/** So many episodes before one and after it belong to it. */
const BEFORE = 2
const AFTER = 1

/** Indexes items whose text, scope or existence has changed. Inside of a transaction. `known` saves time over many calls. */
export function indexItems(file: DerivedFile, rows: readonly ItemRow[], known: KnownWords): void {
  // New rows come at the end of their session, in order: what is beside them is at hand.
  const added = Map.groupBy(
    rows.filter(({ item, isNew }) => isNew && conversationOf(item)),
    ({ item }) => JSON.stringify(conversationOf(item)),
  )
  const again = new Set<number>()
  for (const turns of added.values()) {
    const [first] = turns
    const earlier = first ? turnsBeside(file, first.rowid, conversationOf(first.item), 'before') : []
    const texts = [...earlier.toReversed().map(({ text }) => text), ...turns.map(({ item }) => item.text)].map(text =>
      tokensIn(text, known),
    )
    for (const [n, { rowid, item }] of turns.entries()) {
      const at = n + earlier.length
      const around = [...texts.slice(Math.max(0, at - BEFORE), at), ...texts.slice(at + 1, at + 1 + AFTER)]
      insertWords(file, { rowid, item, words: texts[at] ?? '', around })
    }
    for (const { rowid } of earlier.slice(0, AFTER)) again.add(rowid)
  }
  for (const { rowid, item, isNew } of rows) {
    if (isNew && conversationOf(item)) continue
    again.add(rowid)
    if (!isNew) for (const other of neighbours(file, rowid, item)) again.add(other.rowid)
  }
  for (const rowid of again) reindex(file, rowid, known)
}

/**
 * The episodes of one session that the same readers see; undefined for whatever has no neighbours. Who may not read an episode must not find
 * out its words by those beside it.
 */
function conversationOf({ kind, session, scope, of, acl }: MemoryItem): [string, string, string] | undefined {
  return kind === 'episode' && session !== null && acl.roles.length === 0 ? [session, scope, of] : undefined
}

/** Removes the words of an item that is forgotten, also where they belong to others. Its row must be gone already. */
export function removeWords(file: DerivedFile, rowid: number, item: MemoryItem): void {
  file.run('delete from texts where rowid = ?', rowid)
  for (const other of neighbours(file, rowid, item)) reindex(file, other.rowid)
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

function reindex(file: DerivedFile, rowid: number, known: KnownWords = new Map()): void {
  const row = file.row<{ body: string }>('select body from items where rowid = ?', rowid)
  if (!row) return
  const item = JSON.parse(row.body) as MemoryItem
  file.run('delete from texts where rowid = ?', rowid)
  const conversation = conversationOf(item)
  const around = [
    ...turnsBeside(file, rowid, conversation, 'before').toReversed(),
    ...turnsBeside(file, rowid, conversation, 'after').slice(0, AFTER),
  ]
  const texts = [item, ...around].map(({ text }) => tokensIn(text, known))
  insertWords(file, { rowid, item, words: texts[0] ?? '', around: texts.slice(1) })
}

interface IndexedWords extends Pick<ItemRow, 'rowid' | 'item'> {
  words: string
  around: readonly string[]
}

function insertWords(file: DerivedFile, { rowid, item: { scope, of, kind }, words, around }: IndexedWords): void {
  const keys = `${scopeKey(scope, of)} ${kindKey(kind)}`
  file.run(
    'insert into texts (rowid, words, around, keys) values (?, ?, ?, ?)',
    ...[rowid, words, around.join(' '), keys],
  )
}

interface Turn {
  rowid: number
  text: string
}

/** The nearest first. Rows are numbered in the order of the log. */
function turnsBeside(
  file: DerivedFile,
  rowid: number,
  conversation: readonly string[] | undefined,
  side: 'before' | 'after',
): Turn[] {
  if (!conversation) return []
  const [compare, order] = side === 'before' ? ['<', 'desc'] : ['>', 'asc']
  const rows = file.rows<{ rowid: number; body: string }>(
    `select rowid, body from items where kind = 'episode' and session = ? and scope = ? and "of" = ? and rowid ${compare} ?
     order by rowid ${order} limit ${BEFORE}`,
    ...conversation,
    rowid,
  )
  return rows.flatMap(row => {
    const item = JSON.parse(row.body) as MemoryItem
    return conversationOf(item) ? [{ rowid: row.rowid, text: item.text }] : []
  })
}

/** Everything that has the words of an item as its surroundings. */
function neighbours(file: DerivedFile, rowid: number, item: MemoryItem): Turn[] {
  const conversation = conversationOf(item)
  return (['before', 'after'] as const).flatMap(side => turnsBeside(file, rowid, conversation, side))
}

export interface TextQuery {
  text: string
  reader: MemoryReader
  kinds?: readonly MemoryItem['kind'][] | undefined
  /** What the words beside an item count. */
  around: number
  limit: number
}

/** More words than a question has. */
const MOST_TOKENS = 40
/** Words that occur in more rows than this, all together, are left out: they say the least and take the longest. */
const MOST_ROWS = 2_500

/** The rows that have words of a text, with their BM25, the best first. `sql` is a query for rowid and score, with its values. */
export function matchText(
  file: DerivedFile,
  { text, reader, kinds, around, limit }: TextQuery,
): { sql: string; values: (string | number)[] } | undefined {
  const tokens = chooseTokens(file, queryTokens(text).slice(0, MOST_TOKENS))
  if (tokens.length === 0) return undefined
  const any = (words: readonly string[]) => words.map(word => `"${word}"`).join(' OR ')
  const parts = [
    ...(reader.agent === 'person' ? [] : [`keys : (${any(keysOf(reader))})`]),
    ...(kinds ? [`keys : (${any(kinds.map(kindKey))})`] : []),
    `{words around} : (${any(tokens)})`,
  ]
  return {
    sql: 'select rowid, -rank as score from texts where texts match ? and rank match ? order by rank limit ?',
    values: [parts.join(' AND '), `bm25(1.0, ${around.toFixed(3)}, 0.0)`, limit],
  }
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

function tokensIn(text: string, known: KnownWords): string {
  const tokens: string[] = []
  eachToken(text, token => tokens.push(token), { known })
  return tokens.join(' ')
}
