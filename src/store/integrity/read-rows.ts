import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'

export type Row = Record<string, SQLOutputValue>

/** Rows read at once; when one of them cannot be read they are read one by one. */
const PAGE = 200
const HIGHEST = Number.MAX_SAFE_INTEGER

/** Reads some rows above a number; nothing where that part of the table is damaged. */
type Read = (after: number) => Row[] | undefined

/**
 * Every row of a table that can be reached, with its number as `_row`. A damaged page hides a stretch of numbers: the step
 * over it is doubled until a read succeeds, then halved back to the first number from which one does.
 */
export function* readableRows(database: DatabaseSync, table: string): Generator<Row> {
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
