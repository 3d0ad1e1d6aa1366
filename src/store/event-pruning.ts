import { type Kysely, sql } from 'kysely'
import type { EventKind } from '../domain/event.ts'
import type { Database } from './database.ts'
import type { EventPruning } from './store.ts'
import type { Tables } from './tables.ts'
import type { Writer } from './writer.ts'

/** Events that stay, because something reads them back as a state: that a session existed, how it or a run ended, and that it tried to speak for a person. */
const KEPT_KINDS: readonly EventKind[] = ['session.created', 'session.ended', 'run.ended', 'speaker.refused']

/** Rows deleted in one transaction, so that other writers wait a few milliseconds at most. */
const BATCH = 500

/** Opens the pruning of old events. The caller decides which subjects may lose theirs. */
export function openEventPruning(database: Database, writer: Writer): EventPruning {
  return {
    usedBytes: async () => database.usedBytes(),
    newestBefore: async time => {
      // Times rise with the ids, and only the ids have an index.
      const rows = database.read.selectFrom('events').select('time').where('time', '<', time)
      return (await rows.orderBy('id', 'desc').limit(1).executeTakeFirst())?.time
    },
    prune: async (subject, before, signal) => {
      let removed = 0
      // Most subjects have nothing to prune: their oldest event says so, without a transaction that keeps others from writing.
      const oldest = await prunable(database.read, subject).limit(1).executeTakeFirst()
      while (oldest && oldest.time < before && !signal.aborted) {
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
  const old = await prunable(db, subject).where('id', '<', below).where('time', '<', before).limit(BATCH).execute()
  if (old.length === 0) return 0
  const ids = old.map(({ id }) => id)
  await db.insertInto('event_pruning').values({ subject }).execute()
  await db.deleteFrom('events').where('id', 'in', ids).execute()
  await sql`delete from event_pruning`.execute(db)
  return ids.length
}

function prunable(db: Kysely<Tables>, subject: string) {
  const events = db.selectFrom('events').select(['id', 'time']).where('subject', '=', subject)
  return events.where('kind', 'not in', KEPT_KINDS).orderBy('id')
}
