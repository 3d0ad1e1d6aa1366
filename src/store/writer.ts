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

/** The only way to write: transactions and appends of this process run one after the other, in the order of the calls. */
export class Writer {
  readonly #deps: WriterDeps
  readonly #lock = new WriteLock()
  readonly #group: GroupCommit
  readonly #shared: SharedTransactions

  constructor(deps: WriterDeps) {
    this.#deps = deps
    this.#group = new GroupCommit(this.#lock, rows => deps.database.appendAlone(rows))
    this.#shared = new SharedTransactions(work => this.transaction(work))
  }

  async transaction<T>(work: (tx: Tx) => T | Promise<T>): Promise<T> {
    this.#lock.refuseInside()
    if (this.#group.isWaiting) void this.#group.flush() // these appends came before this transaction
    const result = await this.#lock.run(() => this.#transact(work))
    this.#deps.committed()
    return result
  }

  /**
   * Runs `work` in a transaction that it shares with others of the same turn of the event loop. It may run twice, so it does nothing
   * but read and write rows; it is done when the transaction is.
   */
  share<T>(work: (tx: Tx) => T | Promise<T>): Promise<T> {
    this.#lock.refuseInside()
    return this.#shared.add(work)
  }

  async append(events: NewEvent[], tx?: Tx): Promise<StoredEvent[]> {
    if (tx) return tx.append(events)
    const result = await storeEvents(events, this.#deps.clock.now(), rows => this.#group.append(rows))
    this.#deps.committed()
    return result
  }

  /** Runs `work` while nothing else writes, outside of any transaction. */
  alone<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#lock.run(async () => work())
  }

  /** Resolves when every earlier write has succeeded or failed. */
  drain(): Promise<void> {
    this.#lock.refuseInside()
    return Promise.all([this.#shared.flush(), this.#group.flush()]).then(() => undefined)
  }

  async #transact<T>(work: (tx: Tx) => T | Promise<T>): Promise<T> {
    const { database, clock } = this.#deps
    let isOpen = true
    const refuseLate = () => {
      // The connection is shared: a late call would slip into another transaction.
      if (!isOpen) throw new Error('This transaction is over; do it in a new one.')
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
      isOpen = false
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

type TxWork = (tx: Tx) => unknown

interface WaitingWork {
  work: TxWork
  resolve(result: unknown): void
  reject(reason: unknown): void
}

/** Small transactions of many callers become one. If one of them fails, nothing of it is stored, and each is done again alone. */
class SharedTransactions {
  readonly #transact: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>
  #waiting: WaitingWork[] = []

  constructor(transact: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>) {
    this.#transact = transact
  }

  add<T>(work: (tx: Tx) => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => void this.flush())
      this.#waiting.push({ work, resolve: result => resolve(result as T), reject })
    })
  }

  /** Does all that wait. */
  async flush(): Promise<void> {
    const group = this.#waiting
    this.#waiting = []
    if (group.length > 0) await this.#run(group)
  }

  async #run(group: WaitingWork[]): Promise<void> {
    let isInside = false
    try {
      const results = await this.#transact(async tx => {
        const done: unknown[] = []
        isInside = true
        for (const { work } of group) done.push(await work(tx))
        isInside = false
        return done
      })
      for (const [at, { resolve }] of group.entries()) resolve(results[at])
    } catch (error) {
      // If it could not begin or end, the database is unusable for all of them.
      if (isInside && group.length > 1) for (const each of group) await this.#run([each])
      else for (const { reject } of group) reject(error)
    }
  }
}

interface WaitingAppend {
  rows: NewEventRow[]
  resolve(first: number): void
  reject(reason: unknown): void
}

/**
 * Appends that arrive in the same turn of the event loop, or while another writer is busy, become one transaction: a
 * commit costs as much as many rows. Order is kept, and each promise settles after the commit that contains its rows.
 */
class GroupCommit {
  readonly #lock: WriteLock
  readonly #write: (rows: NewEventRow[]) => number | Promise<number>
  #waiting: WaitingAppend[] = []
  #isScheduled = false

  constructor(lock: WriteLock, write: (rows: NewEventRow[]) => number | Promise<number>) {
    this.#lock = lock
    this.#write = write
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** Stores the rows and returns the id of the first. */
  append(rows: NewEventRow[]): Promise<number> {
    this.#lock.refuseInside()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ rows, resolve, reject })
      if (this.#isScheduled) return
      this.#isScheduled = true
      setImmediate(() => this.flush())
    })
  }

  /** Writes all waiting appends. A failure rejects the append it belongs to. */
  flush(): Promise<void> {
    return this.#lock.run(async () => {
      const group = this.#waiting
      this.#waiting = []
      this.#isScheduled = false
      if (group.length > 0) await this.#commit(group)
    })
  }

  async #commit(group: WaitingAppend[]): Promise<void> {
    try {
      let first = await this.#write(group.length === 1 && group[0] ? group[0].rows : group.flatMap(({ rows }) => rows))
      for (const { rows, resolve } of group) {
        resolve(first)
        first += rows.length
      }
    } catch (error) {
      // If the database is unusable, all appends fail. An invalid row must not take its neighbours along.
      if (group.length > 1 && !(error instanceof AppError)) for (const append of group) await this.#commit([append])
      else for (const { reject } of group) reject(error)
    }
  }
}

/**
 * Lets one writer of this process run at a time, in the order of the calls.
 *
 * A writer that asks again from inside its own turn would wait for itself forever; it gets an error instead.
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

  /** Throws if the caller is already inside its own turn. */
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
      // The next waiting writer runs before any new one: new ones still find the lock busy.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#busy = false
    }
  }
}
