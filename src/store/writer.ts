import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import type { NewEvent, StoredEvent } from '../domain/event.ts'
import type { Database, NewEventRow } from './database.ts'
import { toEventRow, toStoredEvent } from './events.ts'
import type { Tx } from './store.ts'

export interface WriterDeps {
  database: Database
  clock: Clock
  /** Called after every commit. */
  committed(): void
}

/** The one way to write: transactions and appends of this process take turns here, in the order they were asked for. */
export class Writer {
  readonly #deps: WriterDeps
  readonly #lock = new WriteLock()
  readonly #group: GroupCommit

  constructor(deps: WriterDeps) {
    this.#deps = deps
    this.#group = new GroupCommit(this.#lock, rows => deps.database.appendAlone(rows))
  }

  async transaction<T>(work: (tx: Tx) => T | Promise<T>): Promise<T> {
    this.#lock.refuseInside()
    if (this.#group.waits) void this.#group.flush() // they were asked for before this transaction
    const result = await this.#lock.run(() => this.#transact(work))
    this.#deps.committed()
    return result
  }

  async append(events: NewEvent[], tx?: Tx): Promise<StoredEvent[]> {
    if (tx) return tx.append(events)
    const result = await storeEvents(events, this.#deps.clock.now(), rows => this.#group.append(rows))
    this.#deps.committed()
    return result
  }

  /** Runs `work` while nobody else writes, outside of any transaction. */
  alone<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#lock.run(async () => work())
  }

  /** Resolves when everything asked for so far is written or has failed. */
  drain(): Promise<void> {
    return this.#group.flush()
  }

  async #transact<T>(work: (tx: Tx) => T | Promise<T>): Promise<T> {
    const { database, clock } = this.#deps
    let open = true
    const refuseLate = () => {
      // The connection is shared: what comes late would slip into somebody else's transaction.
      if (!open) throw new Error('This transaction is over; do it in a new one.')
    }
    try {
      return await database.transaction(async db =>
        work({
          db,
          run: (text, parameters) => {
            refuseLate()
            return database.runWithin(db, text, parameters) as never
          },
          change: (text, parameters) => {
            refuseLate()
            return database.changeWithin(db, text, parameters)
          },
          append: async events => {
            refuseLate()
            return storeEvents(events, clock.now(), rows => database.appendWithin(db, rows))
          },
        }),
      )
    } finally {
      open = false
    }
  }
}

async function storeEvents(
  events: NewEvent[],
  now: number,
  write: (rows: NewEventRow[]) => number | Promise<number>,
): Promise<StoredEvent[]> {
  if (events.length === 0) return []
  const first = await write(events.map(event => toEventRow(event, now)))
  return events.map((event, index) => toStoredEvent(event, event.time ?? now, first + index))
}

interface Waiting {
  rows: NewEventRow[]
  resolve(first: number): void
  reject(reason: unknown): void
}

/**
 * Appends that arrive in the same turn of the event loop, or while another writer is busy, become one transaction: a
 * commit costs as much as many rows do. Order is kept, and each promise settles after the commit that holds its rows.
 */
class GroupCommit {
  readonly #lock: WriteLock
  readonly #write: (rows: NewEventRow[]) => number | Promise<number>
  #waiting: Waiting[] = []
  #planned = false

  constructor(lock: WriteLock, write: (rows: NewEventRow[]) => number | Promise<number>) {
    this.#lock = lock
    this.#write = write
  }

  get waits(): boolean {
    return this.#waiting.length > 0
  }

  /** Stores the rows and gives the id of the first. */
  append(rows: NewEventRow[]): Promise<number> {
    this.#lock.refuseInside()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ rows, resolve, reject })
      if (this.#planned) return
      this.#planned = true
      setImmediate(() => this.flush())
    })
  }

  /** Writes what waits and resolves when nothing does; failures go to the appends they belong to. */
  flush(): Promise<void> {
    return this.#lock.run(async () => {
      const group = this.#waiting
      this.#waiting = []
      this.#planned = false
      if (group.length > 0) await this.#commit(group)
    })
  }

  async #commit(group: Waiting[]): Promise<void> {
    try {
      let first = await this.#write(group.length === 1 && group[0] ? group[0].rows : group.flatMap(one => one.rows))
      for (const one of group) {
        one.resolve(first)
        first += one.rows.length
      }
    } catch (error) {
      // What the database cannot take now fails for all; a row that is wrong in itself must not take its neighbours along.
      if (group.length > 1 && !(error instanceof AppError)) for (const one of group) await this.#commit([one])
      else for (const one of group) one.reject(error)
    }
  }
}

/**
 * Lets one writer of this process in at a time, in the order they came.
 *
 * A writer that asks again from inside its own turn would wait for itself for ever; it gets an error instead.
 */
class WriteLock {
  readonly #waiting: (() => void)[] = []
  #busy = false
  readonly #turn = new AsyncLocalStorage<{ open: boolean }>()

  /** Runs `work` alone. */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.refuseInside()
    return this.#inTurn(work)
  }

  /** Throws when the caller stands inside a turn of its own. */
  refuseInside(): void {
    if (!this.#turn.getStore()?.open) return
    throw new Error('A write inside a transaction must be given its tx: without it, it would wait for itself for ever.')
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#busy) await new Promise<void>(resolve => this.#waiting.push(resolve))
    this.#busy = true
    const turn = { open: true }
    try {
      return await this.#turn.run(turn, work)
    } finally {
      turn.open = false
      // Who is next is in before anybody who comes now: they find it busy still.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#busy = false
    }
  }
}
