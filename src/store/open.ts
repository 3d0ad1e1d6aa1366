import type { Transaction } from 'kysely'
import { type Clock, systemClock } from '../base/clock.ts'
import type { NewEvent, StoredEvent } from '../domain/event.ts'
import type { Database } from './database/database.ts'
import { openSqlite } from './database/sqlite.ts'
import { stored, toRow } from './events/event-row.ts'
import { followEvents } from './events/follow.ts'
import { GroupCommit } from './events/group-commit.ts'
import { queryEvents } from './events/query.ts'
import { Wake } from './events/wake.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations/all.ts'
import { openSessions } from './sessions.ts'
import type { Store, Tx } from './store.ts'
import type { Tables } from './tables.ts'
import { WriteLock } from './write-lock.ts'

export interface OpenStore {
  file: string
  clock?: Clock
  /** How often followers look for events of other processes. Only the daemon writes, so this is rarely of use. */
  pollMs?: number
}

/** Opens the database, making or upgrading it where needed. */
export async function openStore({ file, clock = systemClock, pollMs = 1000 }: OpenStore): Promise<Store> {
  const database = await openSqlite(file, MIGRATIONS.length)
  try {
    const schema = await migrate(database, file, MIGRATIONS)
    return storeOver({ database, schema, clock, pollMs })
  } catch (error) {
    await database.close()
    throw database.explain(error)
  }
}

interface Parts {
  database: Database
  schema: number
  clock: Clock
  pollMs: number
}

function storeOver({ database, schema, clock, pollMs }: Parts): Store {
  const { read } = database
  const lock = new WriteLock()
  const wake = new Wake(() => newestId(database), pollMs)
  const group = new GroupCommit(lock, rows => database.appendAlone(rows))

  const transaction: Store['transaction'] = async work => {
    try {
      const result = await lock.run(() => database.transaction(async db => await work(txOver(db))))
      wake.ring()
      return result
    } catch (error) {
      throw database.explain(error)
    }
  }

  const txOver = (db: Transaction<Tables>): Tx => ({
    db,
    append: events => store(events, rows => database.appendWithin(db, rows)),
  })

  const store = async (
    events: NewEvent[],
    write: (rows: ReturnType<typeof toRow>[]) => number | Promise<number>,
  ): Promise<StoredEvent[]> => {
    if (events.length === 0) return []
    const now = clock.now()
    const rows = events.map(event => toRow(event, now))
    const first = await write(rows)
    return events.map((event, index) => stored(event, rows[index]?.time ?? now, first + index))
  }

  const append: Store['append'] = async (events, tx) => {
    if (tx) return tx.append(events)
    try {
      const result = await store(events, rows => group.append(rows))
      wake.ring()
      return result
    } catch (error) {
      throw database.explain(error)
    }
  }

  const close = async () => {
    wake.close()
    await group.flush()
    await database.close()
  }

  return {
    schema,
    transaction,
    append,
    follow: (after, options) => followEvents(read, wake, after, options),
    events: query => queryEvents(read, query),
    sessions: openSessions({
      read,
      clock,
      write: (tx, work) => (tx ? work(tx.db) : transaction(own => work(own.db))),
    }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function newestId({ read }: Database): Promise<number> {
  const row = await read
    .selectFrom('events')
    .select(({ fn }) => fn.max('id').as('id'))
    .executeTakeFirst()
  return row?.id ?? 0
}
