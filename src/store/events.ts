import type { Kysely } from 'kysely'
import { EVENT_SCHEMA_VERSION, type NewEvent, type StoredEvent } from '../domain/event.ts'
import type { Database, NewEventRow } from './database.ts'
import type { EventQuery, FollowOptions, Store } from './store.ts'
import type { EventRow, Tables } from './tables.ts'

/** Rows per read: few enough that a slow reader holds little memory. */
const PAGE = 500

export interface FollowDeps {
  database: Database
  wake: EventSignal
  pages: EventPageCache
}

/**
 * Yields every event after an id, then each new one as it is committed.
 *
 * Ids rise in the order of commits, so "everything above the last id seen" has neither gaps nor repetitions. The ring count
 * is taken before the read, so an append between the read and the wait makes the wait return at once. A page that is not
 * full is the last one.
 */
export async function* followEvents(
  { database, wake, pages }: FollowDeps,
  after: number,
  options: FollowOptions = {},
): AsyncGenerator<StoredEvent, void, undefined> {
  let last = after
  const isOver = () => wake.closed || options.signal?.aborted === true
  while (!isOver()) {
    const rings = wake.count
    const read = (from: number) => readPage(database, from, options.subject)
    const { rows, isLast } = await (options.subject === undefined ? pages.at(rings, last, read) : read(last)).catch(
      error => {
        if (wake.closed) return NOTHING
        throw error
      },
    )
    for (const row of rows) {
      if (isOver()) return
      last = row.id
      const event = parseEvent(row)
      if (event) yield event
    }
    if (isLast) await wake.wait(rings, options)
  }
}

/** Shares the newest page among followers at the same position, which are all woken by the same append. */
export class EventPageCache {
  #newest: { rings: number; after: number; page: Promise<Page> } | undefined

  /** The page after an id at a given ring count. It is read once for all followers at the same position. */
  at(rings: number, after: number, read: (after: number) => Promise<Page>): Promise<Page> {
    if (this.#newest?.rings === rings && this.#newest.after === after) return this.#newest.page
    const newest = { rings, after, page: read(after) }
    this.#newest = newest
    // A failure is not shared, and a long page is not worth keeping.
    const forget = () => {
      if (this.#newest === newest) this.#newest = undefined
    }
    newest.page.then(({ rows }) => rows.length > KEPT_ROWS && forget(), forget)
    return newest.page
  }
}

const KEPT_ROWS = 20

interface Page {
  rows: EventRow[]
  /** Whether nothing came after this page when it was read. */
  isLast: boolean
}

const NOTHING: Page = { rows: [], isLast: true }

async function readPage(database: Database, after: number, subject: string | undefined): Promise<Page> {
  const read = (from: number, count: number) => {
    let select = database.read.selectFrom('events').selectAll().where('id', '>', from)
    if (subject !== undefined) select = select.where('subject', '=', subject)
    return select.orderBy('id').limit(count).execute()
  }
  try {
    const rows = await read(after, PAGE)
    return { rows, isLast: rows.length < PAGE }
  } catch (error) {
    if (!database.isDamage(error)) throw error
    const rows = await readPastDamage(after, async from => {
      try {
        return await read(from, 1)
      } catch (again) {
        if (database.isDamage(again)) return 'damaged'
        throw again
      }
    })
    // The read goes only as far as the next damaged part.
    return { rows, isLast: rows.length === 0 }
  }
}

interface WaitOptions {
  signal?: AbortSignal | undefined
  alone?: boolean | undefined
}

/**
 * Wakes waiting followers when there may be new events: at once for appends of this process, and by one slow poll for all
 * followers together for those of other processes. While nobody waits, no timer runs.
 */
export class EventSignal {
  readonly #newestId: () => Promise<number>
  readonly #pollMs: number
  readonly #waiting = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined
  #count = 0
  #newest = 0
  #pollers = 0
  #closed = false

  constructor(newestId: () => Promise<number>, pollMs: number) {
    this.#newestId = newestId
    this.#pollMs = pollMs
  }

  /** Rises with every ring. A follower takes it before it reads, and a ring since then ends its wait at once. */
  get count(): number {
    return this.#count
  }

  get closed(): boolean {
    return this.#closed
  }

  ring(): void {
    this.#count++
    for (const wake of this.#waiting) wake()
  }

  /** Waits for a ring after `count`, for the signal or for the end. `alone` does not poll for events of other processes. */
  async wait(count: number, { signal, alone }: WaitOptions = {}): Promise<void> {
    if (this.#count !== count || this.#closed || signal?.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = () => resolve()
    this.#waiting.add(wake)
    signal?.addEventListener('abort', wake)
    if (!alone) {
      this.#pollers++
      this.#timer ??= setInterval(() => this.#poll(), this.#pollMs)
    }
    await promise
    signal?.removeEventListener('abort', wake)
    this.#waiting.delete(wake)
    if (!alone && --this.#pollers === 0) this.#stop()
  }

  close(): void {
    this.#closed = true
    this.ring()
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #poll(): Promise<void> {
    // On an error the followers are woken, and each one meets the error when it reads.
    const newest = await this.#newestId().catch(() => -1)
    if (newest !== this.#newest) this.ring()
    this.#newest = newest
  }
}

/** The stored events that match, in order. Rows that cannot be parsed are left out. */
export async function queryEvents(db: Kysely<Tables>, query: EventQuery): Promise<StoredEvent[]> {
  const { subject, after, before, kinds, limit, tail, from, until } = query
  if (kinds?.length === 0) return []
  let select = db.selectFrom('events').selectAll()
  if (subject !== undefined) select = select.where('subject', '=', subject)
  if (after !== undefined) select = select.where('id', '>', after)
  if (before !== undefined) select = select.where('id', '<', before)
  if (kinds !== undefined) select = select.where('kind', 'in', kinds)
  if (from !== undefined) select = select.where('time', '>=', from)
  // Only ids have an index: without a bound, one kind of the last days would be searched among the events of years.
  if (from !== undefined && subject === undefined)
    select = select.where('id', '>', await findIdBefore(db, from - CLOCK_TOLERANCE_MS))
  if (until !== undefined) select = select.where('time', '<', until)
  const count = tail ?? limit
  if (count !== undefined) select = select.limit(count)
  const rows = await select.orderBy('id', tail === undefined ? 'asc' : 'desc').execute()
  if (tail !== undefined) rows.reverse()
  return rows
    .slice(0, limit)
    .map(parseEvent)
    .filter(event => event !== undefined)
}

/** Times rise with the ids, unless the clock was corrected. */
const CLOCK_TOLERANCE_MS = 3_600_000
/** So many events are read sooner than the next one is looked up. */
const CLOSE_ENOUGH = 1_000

/** An id below which all events are older than a time: at most `CLOSE_ENOUGH` before the first that is not. */
async function findIdBefore(db: Kysely<Tables>, time: number): Promise<number> {
  let [low, high] = [0, await newestEventId(db)]
  while (high - low > CLOSE_ENOUGH) {
    const middle = Math.floor((low + high) / 2)
    const next = db.selectFrom('events').select('time').where('id', '>=', middle).orderBy('id').limit(1)
    const found = await next.executeTakeFirst()
    if (found && found.time < time) low = middle
    else high = middle
  }
  return low
}

/** The id of the newest event; 0 if there is none. */
export async function newestEventId(db: Kysely<Tables>): Promise<number> {
  const row = await db
    .selectFrom('events')
    .select(({ fn }) => fn.max('id').as('id'))
    .executeTakeFirst()
  return row?.id ?? 0
}

/** The row of an event that is about to be stored. */
export function toEventRow(event: NewEvent, now: number): NewEventRow {
  return {
    time: event.time ?? now,
    actor: event.actor,
    schema_version: EVENT_SCHEMA_VERSION,
    subject: event.subject,
    kind: event.kind,
    body: JSON.stringify(event.body),
  }
}

/** The stored event that an append returns. */
export function toStoredEvent(event: NewEvent, time: number, id: number): StoredEvent {
  return { ...event, id, time, schema_version: EVENT_SCHEMA_VERSION } as StoredEvent
}

/**
 * Parses a row. Returns undefined if that fails, so that one damaged row does not stop a reader.
 *
 * Bodies are our own, so they are not validated again; a kind that a newer minor version wrote passes through.
 */
function parseEvent(row: EventRow): StoredEvent | undefined {
  try {
    const body: unknown = JSON.parse(row.body)
    if (typeof body !== 'object' || body === null || typeof row.kind !== 'string') return undefined
    return { ...row, body } as StoredEvent
  } catch {
    return undefined // not JSON: the row was damaged outside of the program
  }
}

export type SubjectTables = Pick<Store, 'sessions' | 'tasks' | 'runs' | 'features' | 'schedules' | 'observed'>

/** The project that the subject of an event belongs to; undefined if it belongs to none, or has no row yet. */
export async function projectOfSubject(tables: SubjectTables, subject: string): Promise<string | undefined> {
  const { sessions: s, tasks: t, runs: r, features: f, schedules: c, observed: o } = tables
  const found: Record<string, { get(id: string): Promise<{ project: string } | undefined> }> = { s, t, r, f, c, o }
  return (await found[subject.slice(0, subject.indexOf('-'))]?.get(subject))?.project
}

/** Ids are below this; doubling the step reaches it in 53 steps. */
const HIGHEST_ID = Number.MAX_SAFE_INTEGER

/** Reads the first row above an id, or reports that this part of the table is damaged. */
type ReadOne = (after: number) => Promise<EventRow[] | 'damaged'>

/**
 * The first readable row above `after` in a partly damaged table; none if nothing more is readable.
 *
 * A damaged page hides a range of neighbouring ids. The step over it is doubled until a read succeeds, then halved back
 * to the first id from which a read succeeds, so that no readable row is skipped.
 */
async function readPastDamage(after: number, readOne: ReadOne): Promise<EventRow[]> {
  const here = await readOne(after)
  if (here !== 'damaged') return here
  let damaged = after
  for (let step = 1; after + step < HIGHEST_ID; step *= 2) {
    const rows = await readOne(after + step)
    if (rows !== 'damaged') return findFirstReadable(damaged, after + step, rows, readOne)
    damaged = after + step
  }
  return []
}

async function findFirstReadable(
  damaged: number,
  readable: number,
  found: EventRow[],
  readOne: ReadOne,
): Promise<EventRow[]> {
  if (readable - damaged <= 1) return found
  const middle = damaged + Math.floor((readable - damaged) / 2)
  const rows = await readOne(middle)
  return rows === 'damaged'
    ? findFirstReadable(middle, readable, found, readOne)
    : findFirstReadable(damaged, middle, rows, readOne)
}
