import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** What a session needs to wait for a limit, a retry or its turn, and to go on by itself. */
export const sessionWaits: Migration = {
  name: 'session waits',
  async up(db, { columns }) {
    await db.schema.alterTable('sessions').addColumn('task_id', 'text').execute()
    await db.schema
      .alterTable('sessions')
      .addColumn('retries', columns.integer, column => column.notNull().defaultTo(0))
      .execute()
    await db.schema
      .alterTable('sessions')
      .addColumn('priority', columns.integer, column => column.notNull().defaultTo(0))
      .execute()
    await db.schema.alterTable('sessions').addColumn('held_at', columns.integer).execute()
    await db.schema
      .createIndex('sessions_waking')
      .on('sessions')
      .column('resumes_at')
      .where(sql.ref('resumes_at'), 'is not', null)
      .execute()
  },
}
