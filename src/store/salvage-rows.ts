import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { readLeafRows } from './salvage-pages.ts'

export interface CopyResult {
  /** Rows that were read and stand in the new file, by table. */
  rows: Record<string, number>
  /** Rows that were read but make no sense, by table: garbage in place of JSON, no id. */
  dropped: Record<string, number>
}

/** Columns that hold JSON: a row whose text is none would break whoever reads it. */
const JSON_COLUMNS: Record<string, readonly string[]> = {
  events: ['body'],
  sessions: ['options', 'plan', 'parked'],
  outbox: ['body'],
}

/** The two tables that grow, by what no other has: their rows are known by themselves on a page that nothing leads to. */
const KNOWN_BY: Record<string, { column: string; looks: RegExp }> = {
  events: { column: 'kind', looks: /^[a-z]+\.[a-z_]+$/ },
  sessions: { column: 'id', looks: /^s-[0-9a-z]+$/ },
}

/** Copies every row that can be read of `file` into the tables of `fresh`: by way of each table, then from pages that nothing leads to. */
export function copyRows(file: string, fresh: string): CopyResult {
  const old = new DatabaseSync(file, { readOnly: true })
  const target = new DatabaseSync(fresh)
  const copied: CopyResult = { rows: {}, dropped: {} }
  try {
    const tables = tablesOf(target)
    for (const table of tables) copyTable(table, readableRows(old, table.name), { target, copied })
    for (const table of tables) {
      if (KNOWN_BY[table.name]) copyTable(table, strayRows(file, table), { target, copied, isStray: true })
    }
    setBackReaders(target, tables)
    return copied
  } finally {
    old.close()
    target.close()
  }
}

interface Table {
  name: string
  columns: string[]
  /** The column that is the row's own number, if one is. */
  number: string | undefined
}

function tablesOf(target: DatabaseSync): Table[] {
  // An index of words is a virtual table over shadow tables: triggers fill it with the rows that it is about.
  const names = target
    .prepare(`select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite_%'`)
    .all()
  return names.map(({ name }) => {
    const columns = target.prepare(`select name, type, pk from pragma_table_info('${name}')`).all()
    const number = columns.find(({ type, pk }) => pk === 1 && String(type).toLowerCase() === 'integer')
    return {
      name: String(name),
      columns: columns.map(column => String(column['name'])),
      number: number && String(number['name']),
    }
  })
}

interface Into {
  target: DatabaseSync
  copied: CopyResult
  /** Most of them are there already. */
  isStray?: boolean
}

function copyTable(table: Table, rows: Iterable<Row>, { target, copied, isStray = false }: Into): void {
  const { name, columns } = table
  const names = columns.map(column => `"${column}"`).join(', ')
  const insert = target.prepare(`insert into "${name}" (rowid, ${names}) values (?${', ?'.repeat(columns.length)})`)
  let [added, lost] = [0, 0]
  target.exec('begin')
  for (const row of rows) {
    if (makesSense(name, row) && inserted(insert, [row['_row'], ...columns.map(column => row[column])])) added += 1
    else lost += 1
  }
  target.exec('commit')
  copied.rows[name] = (copied.rows[name] ?? 0) + added
  if (lost > 0 && !isStray) copied.dropped[name] = lost
}

/** Where the newest events are lost their numbers are given again: a reader that had come further would never see those. */
function setBackReaders(target: DatabaseSync, tables: Table[]): void {
  if (!tables.some(({ name }) => name === 'cursors')) return
  target.exec('update cursors set event_id = min(event_id, (select coalesce(max(id), 0) from events))')
}

/** Rows of the table by their looks alone. One that was deleted or rewritten long ago may be among them: it must start nothing. */
function* strayRows(file: string, { name, columns, number }: Table): Generator<Row> {
  const known = KNOWN_BY[name]
  if (!known) return
  for (const { row, values } of readLeafRows(file)) {
    if (values.length !== columns.length) continue
    const found: Row = Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]))
    if (number !== undefined) found[number] = row
    if (known.looks.test(String(found[known.column])))
      yield { ...(name === 'sessions' ? calmed(found) : found), _row: row }
  }
}

/** It may have been over for long when its page was given up: only a person can tell whether it should go on. */
function calmed(row: Row): Row {
  if (row['state'] === 'ended' && row['resumes_at'] === null) return row
  const status_reason = `the store was damaged, and this may not be how it stood last; go on with: pcc resume ${row['id']}`
  const ended_at = row['ended_at'] ?? row['created_at'] ?? 0
  return { ...row, state: 'ended', ended_as: 'paused', status_reason, ended_at, owner: null, resumes_at: null }
}

function makesSense(table: string, row: Row): boolean {
  return (JSON_COLUMNS[table] ?? []).every(column => {
    const value = row[column]
    if (value === null || value === undefined) return true
    try {
      return typeof JSON.parse(String(value)) === 'object'
    } catch {
      return false // garbage
    }
  })
}

/** A row that the table refuses (no id, one that is there already) is not added. */
function inserted(insert: StatementSync, values: (Row[string] | undefined)[]): boolean {
  try {
    insert.run(...values.map((value): SQLInputValue => value ?? null))
    return true
  } catch {
    return false
  }
}

type Row = Record<string, SQLOutputValue>

/** Rows read at once; when one of them cannot be read they are read one by one. */
const PAGE = 200
const HIGHEST = Number.MAX_SAFE_INTEGER

/** Reads some rows above a number; nothing where that part of the table is damaged. */
type Read = (after: number) => Row[] | undefined

/**
 * Every row of a table that can be reached, with its number as `_row`. A damaged page hides a stretch of numbers: the step
 * over it is doubled until a read succeeds, then halved back to the first number from which one does.
 */
function* readableRows(database: DatabaseSync, table: string): Generator<Row> {
  const [many, single] = [reader(database, table, PAGE), reader(database, table, 1)]
  let after = -HIGHEST
  for (;;) {
    const rows = many(after) ?? firstReadable(after, single)
    if (rows.length === 0) return
    yield* rows
    after = Number(rows.at(-1)?.['_row'])
  }
}

function reader(database: DatabaseSync, table: string, count: number): Read {
  const statement = tried(() =>
    database.prepare(`select rowid as _row, * from "${table}" where rowid > ? order by rowid limit ${count}`),
  )
  return after => {
    const rows = tried(() => statement?.all(after))
    return rows && isRising(rows, after) ? rows : undefined
  }
}

/** On a damaged page numbers may come in any order, and a walk by them would never end. */
function isRising(rows: Row[], after: number): boolean {
  let last = after
  return rows.every(row => {
    const rises = Number(row['_row']) > last
    last = Number(row['_row'])
    return rises
  })
}

/** The first row above `after` that can be read, as a list; none where there is nothing any more. */
function firstReadable(after: number, read: Read): Row[] {
  const here = read(after)
  if (here) return here
  // Numbers of rows begin at 1: below it there is nothing to step over.
  let damaged = Math.max(after, 0)
  for (let step = 1; damaged + step < HIGHEST; step *= 2) {
    const found = read(damaged + step)
    if (found) return halved({ damaged, readable: damaged + step, found }, read)
    damaged += step
  }
  return []
}

interface Between {
  damaged: number
  readable: number
  found: Row[]
}

function halved({ damaged, readable, found }: Between, read: Read): Row[] {
  if (readable - damaged <= 1) return found
  const middle = damaged + Math.floor((readable - damaged) / 2)
  const rows = read(middle)
  return rows
    ? halved({ damaged, readable: middle, found: rows }, read)
    : halved({ damaged: middle, readable, found }, read)
}

function tried<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined // that part of the file is damaged
  }
}
