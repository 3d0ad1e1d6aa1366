import type { Clock } from '../base/clock.ts'
import type { NewEvent, StoredEvent } from '../domain/event.ts'
import type { Database, NewEventRow } from './database/database.ts'
import { stored, toRow } from './events/event-row.ts'
import { GroupCommit } from './events/group-commit.ts'
import type { Tx } from './store.ts'
import { WriteLock } from './write-lock.ts'

export interface WriterParts {
  database: Database
  clock: Clock
  /** Called after every commit. */
  committed(): void
}

/** The one way to write: transactions and appends of this process take turns here, in the order they were asked for. */
export class Writer {
  readonly #parts: WriterParts
  readonly #lock = new WriteLock()
  readonly #group: GroupCommit

  constructor(parts: WriterParts) {
    this.#parts = parts
    this.#group = new GroupCommit(this.#lock, rows => parts.database.appendAlone(rows))
  }

  async transaction<T>(work: (tx: Tx) => T | Promise<T>): Promise<T> {
    this.#lock.refuseInside()
    if (this.#group.waits) void this.#group.flush() // they were asked for before this transaction
    const result = await this.#lock.run(() => this.#transact(work))
    this.#parts.committed()
    return result
  }

  async append(events: NewEvent[], tx?: Tx): Promise<StoredEvent[]> {
    if (tx) return tx.append(events)
    const result = await storeEvents(events, this.#parts.clock.now(), rows => this.#group.append(rows))
    this.#parts.committed()
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
    const { database, clock } = this.#parts
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
  const first = await write(events.map(event => toRow(event, now)))
  return events.map((event, index) => stored(event, event.time ?? now, first + index))
}
