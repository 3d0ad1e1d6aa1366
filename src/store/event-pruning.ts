import { type Kysely, sql } from 'kysely'
import type { EventKind } from '../domain/event.ts'
import type { Database } from './database.ts'
import type { EventPruning } from './store.ts'
import type { Tables } from './tables.ts'
import type { Writer } from './writer.ts'

/** Events that a session keeps forever: that it existed, how it ended, and that it tried to speak for a person. */
const KEPT_KINDS: readonly EventKind[] = ['session.created', 'session.ended', 'speaker.refused']

/** Rows deleted in one transaction, so that other writers wait a few milliseconds at most. */
const BATCH = 500

/** Opens the pruning of old events. The caller decides which subjects may lose theirs. */
export function openEventPruning(database: Database, writer: Writer): EventPruning {
  return {
    usedBytes: async () => database.usedBytes(),
    newestBefore: async time => {
      const rows = database.read.selectFrom('events').where('time', '<', time)
      const newest = await rows.select(({ fn }) => fn.max('time').as('time')).executeTakeFirst()
      return newest?.time ?? undefined
    },
    prune: async (subject, before, signal) => {
      let removed = 0
      while (!signal.aborted) {
        const batch = await writer.transaction(({ db }) => pruneBatch(db, subject, before))
        removed += batch
        if (batch < BATCH) break
      }
      return removed
    },
    giveBack: () => writer.alone(() => database.giveBack()),
  }
}

/** Keeps events that a reader with a cursor has not seen yet, and the newest event, because its id would be reused. */
async function pruneBatch(db: Kysely<Tables>, subject: string, before: number): Promise<number> {
  const { seen } = await db
    .selectFrom('cursors')
    .select(({ fn }) => fn.min('event_id').as('seen'))
    .executeTakeFirstOrThrow()
  const { newest } = await db
    .selectFrom('events')
    .select(({ fn }) => fn.max('id').as('newest'))
    .executeTakeFirstOrThrow()
  const below = Math.min((seen ?? newest ?? 0) + 1, newest ?? 0)
  const old = await db
    .selectFrom('events')
    .select('id')
    .where('subject', '=', subject)
    .where('id', '<', below)
    .where('time', '<', before)
    .where('kind', 'not in', KEPT_KINDS)
    .orderBy('id')
    .limit(BATCH)
    .execute()
  if (old.length === 0) return 0
  const ids = old.map(({ id }) => id)
  await db.insertInto('event_pruning').values({ subject }).execute()
  await db.deleteFrom('events').where('id', 'in', ids).execute()
  await sql`delete from event_pruning`.execute(db)
  return ids.length
}
