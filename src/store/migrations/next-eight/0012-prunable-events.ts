import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/**
 * Events stay append-only but for one way: rows of a subject that is listed in `event_pruning` may be deleted. The list is
 * filled and emptied inside of the transaction that prunes, so nothing else ever sees it filled.
 */
export const prunableEvents: Migration = {
  name: 'prunable events',
  async up(db, { prunable }) {
    await db.schema
      .createTable('event_pruning')
      .addColumn('subject', 'text', column => column.primaryKey().notNull())
      .execute()
    for (const statement of prunable('events', 'event_pruning')) await sql.raw(statement).execute(db)
  },
}
