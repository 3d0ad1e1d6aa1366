import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** What a parked request needs beside what a refused one has: context to judge by, an answer in words, and a way out unanswered. */
export const openDecisions: Migration = {
  name: 'open decisions',
  async up(db) {
    await db.schema
      .alterTable('escalations')
      .addColumn('task', 'text', column => column.notNull().defaultTo(''))
      .execute()
    await db.schema
      .alterTable('escalations')
      .addColumn('reasons', 'text', column => column.notNull().defaultTo('[]'))
      .execute()
    await db.schema.alterTable('escalations').addColumn('answer', 'text').execute()
    // A withdrawn row waits no more than an answered one.
    await db.schema.dropIndex('escalations_waiting').execute()
    await db.schema
      .createIndex('escalations_waiting')
      .on('escalations')
      .columns(['session_id', 'fingerprint'])
      .unique()
      .where(sql.ref('state'), 'in', sql`('open', 'denied')`)
      .execute()
  },
}
