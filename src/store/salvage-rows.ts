import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import type { Selectable } from 'kysely'
import { readLeafRows } from './salvage-pages.ts'
import type { Tables } from './tables.ts'

export interface CopyResult {
  /** How many rows were copied, by table. */
  rows: Record<string, number>
  /** How many rows were readable but invalid (garbage instead of JSON, no id), by table. */
  dropped: Record<string, number>
}

/** The columns of a table that hold JSON. */
type JsonIn<Row> = keyof {
  [Column in keyof Row as '_holds' extends keyof NonNullable<Row[Column]> ? Column : never]: true
}

/**
 * The columns that hold JSON, and what becomes of a row in which it is damaged: it would break its readers and is left out (`drop`), or they
 * take it for empty (`keep`).
 */
export const JSON_COLUMNS: {
  [Table in keyof Tables as JsonIn<Selectable<Tables[Table]>> extends never ? never : Table]: Readonly<
    Record<JsonIn<Selectable<Tables[Table]>>, 'drop' | 'keep'>
  >
} = {
  events: { body: 'drop' },
  sessions: { options: 'drop', plan: 'drop', parked: 'drop' },
  outbox: { body: 'drop' },
  tasks: { budget: 'drop' },
  runs: { target: 'drop', options: 'drop' },
  schedules: { target: 'drop', options: 'drop' },
  features: { options: 'drop', draft: 'drop' },
  escalations: { input: 'keep', reasons: 'keep', context: 'keep', answer: 'keep' },
  answers: { answer: 'keep' },
  attempts: { files: 'keep' },
  evidence: { findings: 'keep', tests: 'keep' },
  gate_results: { tests: 'keep' },
  quota_accounts: { place: 'keep' },
  // Without its reply a request that is sent again would be carried out again.
  api_replies: { reply: 'keep' },
}

/** How rows of the two growing tables are recognised on a page that no other page points to. */
const RECOGNISED_BY: Record<string, { column: string; pattern: RegExp }> = {
  events: { column: 'kind', pattern: /^[a-z]+\.[a-z_]+$/ },
  sessions: { column: 'id', pattern: /^s-[0-9a-z]+$/ },
}

/** Copies every readable row of `file` into the tables of `fresh`: first through each table, then from pages that no other page points to. */
export function copyRows(file: string, fresh: string): CopyResult {
  const old = new DatabaseSync(file, { readOnly: true })
  const target = new DatabaseSync(fresh)
  const copied: CopyResult = { rows: {}, dropped: {} }
  try {
    const tables = listTables(target)
    for (const table of tables) copyTable(table, readTableRows(old, table.name), { target, copied })
    for (const table of tables) {
      if (RECOGNISED_BY[table.name]) copyTable(table, readStrayRows(file, table), { target, copied, isStray: true })
    }
    setBackCursors(target, tables)
    return copied
  } finally {
    old.close()
    target.close()
  }
}

interface Table {
  name: string
  columns: string[]
  /** How many columns every row has. Those behind were added by migrations, and SQLite writes them into no row that was there before. */
  fewest: number
  /** The column that equals the rowid, if there is one. */
  number: string | undefined
}

function listTables(target: DatabaseSync): Table[] {
  // A full-text index is a virtual table over shadow tables; triggers fill it, and the numbers of rows.
  const names = target
    .prepare(`select name from pragma_table_list
      where schema = 'main' and type = 'table' and name not like 'sqlite_%' and name != 'row_counts'`)
    .all()
  return names.map(({ name }) => {
    const columns = target
      .prepare(`select name, type, pk, "notnull", dflt_value from pragma_table_info('${name}')`)
      .all()
    const number = columns.find(({ type, pk }) => pk === 1 && String(type).toLowerCase() === 'integer')
    return {
      name: String(name),
      columns: columns.map(column => String(column['name'])),
      // A column that has to be there and has no default cannot be added to a table.
      fewest: columns.findLastIndex(column => column['notnull'] === 1 && column['dflt_value'] === null) + 1,
      number: number && String(number['name']),
    }
  })
}

interface CopyTarget {
  target: DatabaseSync
  copied: CopyResult
  /** Stray rows: most of them have been copied already, so failures are not counted. */
  isStray?: boolean
}

function copyTable(table: Table, rows: Iterable<Row>, { target, copied, isStray = false }: CopyTarget): void {
  const { name } = table
  const inserts: StatementSync[] = []
  // What a row lacks at its end gets its default.
  const insertOf = (columns: readonly string[]) => {
    const names = columns.map(column => `"${column}"`).join(', ')
    const text = `insert into "${name}" (rowid, ${names}) values (?${', ?'.repeat(columns.length)})`
    inserts[columns.length] ??= target.prepare(text)
    return inserts[columns.length] as StatementSync
  }
  let [added, dropped] = [0, 0]
  target.exec('begin')
  for (const row of rows) {
    const columns = table.columns.filter(column => column in row)
    const values = [row['_row'], ...columns.map(column => row[column])]
    if (isValid(name, row) && tryInsert(insertOf(columns), values)) added += 1
    else dropped += 1
  }
  target.exec('commit')
  copied.rows[name] = (copied.rows[name] ?? 0) + added
  if (dropped > 0 && !isStray) copied.dropped[name] = dropped
}

/** If the newest events are lost, their ids are reused; a reader whose cursor is further on would never see those events. */
function setBackCursors(target: DatabaseSync, tables: Table[]): void {
  if (!tables.some(({ name }) => name === 'cursors')) return
  target.exec('update cursors set event_id = min(event_id, (select coalesce(max(id), 0) from events))')
}

/** Rows that are recognised only by their content. A row that was deleted or rewritten long ago may be among them, so it must start nothing. */
function* readStrayRows(file: string, { name, columns, fewest, number }: Table): Generator<Row> {
  const recognised = RECOGNISED_BY[name]
  if (!recognised) return
  for (const { row, values } of readLeafRows(file)) {
    if (values.length < fewest || values.length > columns.length) continue
    const found: Row = Object.fromEntries(values.map((value, index) => [columns[index], value]))
    if (number !== undefined) found[number] = row
    if (recognised.pattern.test(String(found[recognised.column])))
      yield { ...(name === 'sessions' ? withoutResume(found) : found), _row: row }
  }
}

/** The session may have ended long before its page was freed, so only a person can tell whether it should continue. */
function withoutResume(row: Row): Row {
  if (row['state'] === 'ended' && row['resumes_at'] === null) return row
  const status_reason = `the store was damaged, so this may not be its last state; go on with: pcc resume ${row['id']}`
  const ended_at = row['ended_at'] ?? row['created_at'] ?? 0
  return { ...row, state: 'ended', ended_as: 'paused', status_reason, ended_at, owner: null, resumes_at: null }
}

function isValid(table: string, row: Row): boolean {
  const columns: Record<string, 'drop' | 'keep'> =
    table in JSON_COLUMNS ? JSON_COLUMNS[table as keyof typeof JSON_COLUMNS] : {}
  return Object.entries(columns).every(([column, damaged]) => {
    const value = row[column]
    if (damaged === 'keep' || value === null || value === undefined) return true
    try {
      return typeof JSON.parse(String(value)) === 'object'
    } catch {
      return false // garbage
    }
  })
}

/** Returns false for a row that the table refuses (no id, or an existing one). */
function tryInsert(insert: StatementSync, values: (Row[string] | undefined)[]): boolean {
  try {
    insert.run(...values.map((value): SQLInputValue => value ?? null))
    return true
  } catch {
    return false
  }
}

type Row = Record<string, SQLOutputValue>

/** Rows per read; if one of them cannot be read, they are read one by one. */
const PAGE = 200
const HIGHEST = Number.MAX_SAFE_INTEGER

/** Reads some rows above a rowid; undefined if that part of the table is damaged. */
type Read = (after: number) => Row[] | undefined

/**
 * Every reachable row of a table, with its rowid as `_row`. A damaged page hides a range of rowids: the step over it is
 * doubled until a read succeeds, then halved back to the first rowid from which a read succeeds.
 */
function* readTableRows(database: DatabaseSync, table: string): Generator<Row> {
  const [readPage, readOne] = [prepareRead(database, table, PAGE), prepareRead(database, table, 1)]
  let after = -HIGHEST
  for (;;) {
    const rows = readPage(after) ?? findFirstReadable(after, readOne)
    if (rows.length === 0) return
    yield* rows
    after = Number(rows.at(-1)?.['_row'])
  }
}

function prepareRead(database: DatabaseSync, table: string, count: number): Read {
  const statement = tryOrUndefined(() =>
    database.prepare(`select rowid as _row, * from "${table}" where rowid > ? order by rowid limit ${count}`),
  )
  return after => {
    const rows = tryOrUndefined(() => statement?.all(after))
    return rows && isRising(rows, after) ? rows : undefined
  }
}

/** On a damaged page rowids may come in any order, and reading on from the last one would never end. */
function isRising(rows: Row[], after: number): boolean {
  let last = after
  return rows.every(row => {
    const rises = Number(row['_row']) > last
    last = Number(row['_row'])
    return rises
  })
}

/** The first readable row above `after`, as a list; empty if there is none. */
function findFirstReadable(after: number, read: Read): Row[] {
  const here = read(after)
  if (here) return here
  // Rowids begin at 1; below that there is nothing to step over.
  let damaged = Math.max(after, 0)
  for (let step = 1; damaged + step < HIGHEST; step *= 2) {
    const found = read(damaged + step)
    if (found) return narrowDown({ damaged, readable: damaged + step, found }, read)
    damaged += step
  }
  return []
}

interface SearchRange {
  damaged: number
  readable: number
  found: Row[]
}

function narrowDown({ damaged, readable, found }: SearchRange, read: Read): Row[] {
  if (readable - damaged <= 1) return found
  const middle = damaged + Math.floor((readable - damaged) / 2)
  const rows = read(middle)
  return rows
    ? narrowDown({ damaged, readable: middle, found: rows }, read)
    : narrowDown({ damaged: middle, readable, found }, read)
}

function tryOrUndefined<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined // that part of the file is damaged
  }
}
