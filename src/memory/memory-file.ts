import type { MemoryItem, MemoryReader, MemoryRecord } from '../domain/memory.ts'
import { ITEM_KINDS, mayReadMemory } from '../domain/memory.ts'
import { DerivedFile, type DerivedOptions } from '../store/derived-file.ts'
import { applyRecord, itemIdsOf } from './learn/apply-record.ts'
import type { ItemUse } from './learn/importance.ts'
import { isTrusted, type PolicyValues } from './learn/policy.ts'
import { RANK_WEIGHTS, type RankedItem, type RankWeights, rankItems } from './rank-items.ts'
import { indexItem, matchText, removeWords, TEXT_TABLES, talkOf, VECTOR_TABLES } from './text-index.ts'

/** Rises with every change of the tables, of the fields of an item, or of what follows from a record: then everything is derived anew. */
export const DERIVED_SCHEMA = 7

/** "pccm": the file is a memory of ours. */
const APPLICATION_ID = 0x7063636d

/** The kinds of records that make no item. SQLite uses their index only for a query that says the same in the same words. */
export const WITHOUT_ITEM = `kind in ('recall', 'result', 'move', 'policy')`

const TABLES = [
  'create table meta (name text primary key, value text not null) without rowid',
  /** How far the lines of a segment are known by their ids, how far items were made of them, and the time of the oldest one that expires. */
  `create table segments (id integer primary key, name text not null unique, key text not null, number integer not null,
     known integer not null, applied integer not null, oldest integer)`,
  'create index segments_by_key on segments (key, number)',
  'create index segments_to_apply on segments (id) where applied < known',
  /** Where the record of an id is; one that was forgotten has no segment. */
  'create table ids (id text primary key, segment integer, at integer, kind text, time integer) without rowid',
  `create index ids_by_kind on ids (kind, time) where ${WITHOUT_ITEM}`,
  /** Lines that are damaged, or have an id that another line has: where to look for what else is to be forgotten. */
  'create table odd (segment integer not null, at integer not null, primary key (segment, at)) without rowid',
  /** Records that an item rests on, besides the newest, which it names itself. */
  'create table older (item text not null, id text not null, primary key (item, id)) without rowid',
  /** What is applied when all segments have caught up. */
  'create table deferred (id text primary key, time integer not null, body text not null) without rowid',
  /** To which tasks an item was shown, and whether they succeeded. */
  'create table shown (item text not null, task text not null, succeeded integer not null default 0, primary key (item, task)) without rowid',
  'create index shown_by_task on shown (task)',
  'create table policy (name text primary key, value real not null) without rowid',
  `create table items (rowid integer primary key, id text not null unique, kind text not null, type text not null, scope text not null,
     "of" text not null, talk text, updated_at integer not null, ended_at integer, files integer not null, body text not null)`,
  'create index items_by_kind on items (kind, updated_at)',
  'create index items_with_files on items ("of") where files > 0',
  // What a reader sees of each kind, the newest first, without a look at what others have.
  'create index items_by_scope on items (scope, "of", kind, updated_at, type, ended_at)',
  'create index items_by_talk on items (talk) where talk is not null',
  ...TEXT_TABLES,
  ...VECTOR_TABLES,
]

export interface ItemQuery {
  reader: MemoryReader
  /** Items that have to do with this text, the best first (`rankItems`). Without it, the newest first. */
  text?: string | undefined
  kinds?: readonly MemoryItem['kind'][] | undefined
  /** The kind of event, or the category of a fact. */
  type?: string | undefined
  /** Also what is no longer true. */
  withEnded?: boolean | undefined
  limit?: number | undefined
  /** The thresholds and weights of the session; those of all projects by default. */
  policy?: PolicyValues | undefined
  /** To measure what other weights would find. */
  weights?: RankWeights | undefined
}

const MOST_FOUND = 200
/** So many facts of a project are compared with its files at once; recall looks at each one that it shows. */
const MOST_FACTS = 1_000
/** So many of the best by their words are ranked by all that counts. */
const MOST_RANKED = 200

/** What follows from the log, in a file that can be thrown away. */
export class MemoryFile extends DerivedFile {
  readonly #words = new Map<string, string>()

  constructor(path: string, options: DerivedOptions = {}) {
    super(path, { schema: DERIVED_SCHEMA, application: APPLICATION_ID, tables: TABLES, erases: true }, options)
  }

  /** Items that a reader may see. */
  find({
    reader,
    text,
    kinds,
    type,
    withEnded = false,
    limit = 20,
    policy,
    weights = RANK_WEIGHTS,
  }: ItemQuery): RankedItem[] {
    const wanted = [...(type === undefined ? [] : ['i.type = ?']), ...(withEnded ? [] : ['i.ended_at is null'])]
    const bound = type === undefined ? [] : [type]
    const most = Math.min(limit, MOST_FOUND)
    const read = (rows: { body: string; score: number }[]) =>
      rows
        .map(({ body, score }) => ({ item: JSON.parse(body) as MemoryItem, score }))
        .filter(({ item }) => mayReadMemory(item, reader))
    if (text === undefined) {
      const rows = (kinds ?? ITEM_KINDS).flatMap(kind =>
        readableBy(reader).flatMap(({ sql, values, kind: name }) =>
          this.rows<{ body: string; score: number; updated_at: number }>(
            `select body, 0 as score, updated_at from items i
             where ${[sql, `${name} = ?`, ...wanted].join(' and ')} order by updated_at desc limit ?`,
            ...[...values, kind, ...bound, most],
          ),
        ),
      )
      return read(rows.toSorted((a, b) => b.updated_at - a.updated_at)).slice(0, most)
    }
    const matching = matchText(this, { text, reader, kinds, around: weights.around, limit: MOST_RANKED })
    const found = matching.flatMap(({ rowid, score }) =>
      this.rows<{ body: string; score: number }>(
        `select i.body, ? as score from items i where ${['i.rowid = ?', ...wanted].join(' and ')}`,
        ...[score, rowid, ...bound],
      ),
    )
    return rankItems(read(found), { query: text, now: reader.now, policy: policy ?? this.policy(), weights }).slice(
      0,
      most,
    )
  }

  item(id: string): MemoryItem | undefined {
    const row = this.row<{ body: string }>('select body from items where id = ?', id)
    return row && (JSON.parse(row.body) as MemoryItem)
  }

  /** Everything but episodes. */
  *lessons(): Generator<MemoryItem> {
    for (let after = 0; ; ) {
      const rows = this.rows<{ rowid: number; body: string }>(
        `select rowid, body from items where kind <> 'episode' and rowid > ? order by rowid limit 500`,
        after,
      )
      for (const { body } of rows) yield JSON.parse(body) as MemoryItem
      after = rows.at(-1)?.rowid ?? 0
      if (after === 0) return
    }
  }

  /** The facts of projects that speak of files, also those whose files have changed; the newest first. */
  factsWithFiles(projects: readonly string[]): MemoryItem[] {
    const rows = this.rows<{ body: string }>(
      `select body from items where files > 0 and scope = 'project' and "of" in (${projects.map(() => '?').join(', ')})
       order by updated_at desc limit ${MOST_FACTS}`,
      ...projects,
    )
    const items = rows.map(({ body }) => JSON.parse(body) as MemoryItem)
    return items.filter(({ ended_at, ended_by }) => ended_at === null || ended_by === 'stale')
  }

  policy(): PolicyValues {
    return Object.fromEntries(
      this.rows<{ name: string; value: number }>('select name, value from policy').map(({ name, value }) => [
        name,
        value,
      ]),
    )
  }

  /** Applies records in their order. Runs inside of a transaction; items are written once for each batch. */
  apply(records: readonly MemoryRecord[]): void {
    const changed = new Map<string, ChangedItem>()
    let policy = this.policy()
    for (const record of records) {
      if (record.kind === 'policy' && record.scope === 'global' && record.role === null && isTrusted(record)) {
        this.run(
          'insert into policy values (?, ?) on conflict (name) do update set value = excluded.value',
          record.name,
          record.after,
        )
        policy = { ...policy, [record.name]: record.after }
      }
      this.#noteUse(record)
      for (const id of itemIdsOf(record)) {
        const change = changed.get(id) ?? this.#read(id)
        const after = applyRecord(change.item, record, policy, id)
        if (after !== change.item) changed.set(id, changeItem(change, after))
      }
    }
    this.#put([...changed.values()])
  }

  /** Makes an item again from the records that are left of it. Inside of a transaction. */
  deriveAgain(id: string, records: readonly MemoryRecord[]): void {
    const change = this.#read(id)
    const { before } = change
    if (!before) return
    this.run('delete from older where item = ?', id)
    const policy = this.policy()
    const { moves = [], others = [] } = Object.groupBy(records, ({ kind }) => (kind === 'move' ? 'moves' : 'others'))
    const made = [...others, ...moves.toSorted((a, b) => a.time - b.time)].reduce<ChangedItem>(
      (made, record) => changeItem(made, applyRecord(made.item, record, policy, id)),
      { ...change, item: undefined },
    )
    const { uses, last_used_at } = before
    if (made.item) this.#put([{ ...made, item: { ...made.item, uses, last_used_at } }])
    else this.removeItem(id)
  }

  /** The ids of all records that an item rests on. */
  recordsOf(id: string): string[] {
    const older = this.rows<{ id: string }>('select id from older where item = ?', id)
    return [...(this.item(id)?.records ?? []), ...older.map(row => row.id)]
  }

  noteOdd(segment: number, at: number): void {
    this.run('insert or ignore into odd values (?, ?)', segment, at)
  }

  /** What became of the tasks to which an item was shown. */
  countUses(id: string): ItemUse {
    const row = this.row<{ shown: number; succeeded: number | null }>(
      'select count(*) as shown, sum(succeeded) as succeeded from shown where item = ?',
      id,
    )
    return { shown: row?.shown ?? 0, succeeded: row?.succeeded ?? 0 }
  }

  #noteUse(record: MemoryRecord): void {
    if (record.task === null) return
    if (record.kind === 'recall' && record.arm === 'with')
      for (const item of record.items)
        this.run('insert or ignore into shown (item, task) values (?, ?)', item, record.task)
    if (record.kind === 'result')
      this.run('update shown set succeeded = ? where task = ?', record.outcome === 'success' ? 1 : 0, record.task)
  }

  putItem(item: MemoryItem): void {
    this.#put([{ ...this.#read(item.id), item }])
  }

  #read(id: string): ChangedItem {
    const row = this.row<{ rowid: number; body: string }>('select rowid, body from items where id = ?', id)
    const before = row && (JSON.parse(row.body) as MemoryItem)
    return { rowid: row?.rowid, before, item: before, older: [] }
  }

  #put(changes: readonly ChangedItem[]): void {
    for (const change of changes) if (change.item) this.#putRow(change, change.item)
  }

  #putRow({ rowid, before, older }: ChangedItem, item: MemoryItem): void {
    const { id, kind, type, scope, of, updated_at, ended_at } = item
    for (const record of older) this.run('insert or ignore into older values (?, ?)', id, record)
    const values = [kind, type, scope, of, talkOf(item), updated_at, ended_at, item.about.length, JSON.stringify(item)]
    if (rowid === undefined || !before) {
      const inserted = this.run(
        'insert into items (id, kind, type, scope, "of", talk, updated_at, ended_at, files, body) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
        ...[id, ...values],
      )
      indexItem(this, { rowid: inserted, item, isNew: true }, this.#words)
      return
    }
    this.run(
      'update items set kind = ?, type = ?, scope = ?, "of" = ?, talk = ?, updated_at = ?, ended_at = ?, files = ?, body = ? where rowid = ?',
      ...[...values, rowid],
    )
    const isSame = before.text === item.text && before.scope === scope && before.of === of
    if (!isSame) indexItem(this, { rowid, item, isNew: false }, this.#words)
  }

  removeItem(id: string): void {
    const row = this.row<{ rowid: number }>('select rowid from items where id = ?', id)
    if (!row) return
    this.run('delete from items where rowid = ?', row.rowid)
    this.run('delete from older where item = ?', id)
    this.run('delete from shown where item = ?', id)
    removeWords(this, row.rowid)
  }
}

/** An item before and after a batch of records, and the row that it has. */
interface ChangedItem {
  rowid: number | undefined
  before: MemoryItem | undefined
  item: MemoryItem | undefined
  /** Records that it no longer names, because there are too many. */
  older: readonly string[]
}

function changeItem(change: ChangedItem, item: MemoryItem | undefined): ChangedItem {
  const last = change.item?.records.at(-1)
  const isOlder = last !== undefined && item !== undefined && !item.records.includes(last)
  return { ...change, item, older: isOlder ? [...change.older, last] : change.older }
}

/** The parts of what a reader can see; roles and times are checked afterwards. */
function readableBy({ agent, session, projects }: MemoryReader): { sql: string; kind: string; values: string[] }[] {
  if (agent === 'person') return [{ sql: 'true', kind: 'i.kind', values: [] }]
  const own = [
    ['global', ''],
    ...projects.map(key => ['project', key]),
    ...(session === null ? [] : [['session', session]]),
  ]
  // A plus keeps SQLite from looking at all of a kind instead of the few that agents keep for themselves.
  const agents = { sql: `i.scope = 'agent'`, kind: '+i.kind', values: [] }
  return [agents, ...own.map(values => ({ sql: 'i.scope = ? and i."of" = ?', kind: 'i.kind', values }))]
}
