import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

export const escalationsAndAnswers: Migration = {
  name: 'escalations and answers',
  async up(db, { columns }) {
    await db.schema
      .createTable('escalations')
      .addColumn('number', columns.integer, column => column.primaryKey())
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('session_id', 'text', column => column.notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('call_id', 'text', column => column.notNull())
      .addColumn('tool', 'text', column => column.notNull())
      .addColumn('target', 'text', column => column.notNull())
      .addColumn('input', 'text', column => column.notNull())
      .addColumn('risk', 'text', column => column.notNull())
      .addColumn('reason', 'text', column => column.notNull())
      .addColumn('normalised', 'text', column => column.notNull())
      .addColumn('fingerprint', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('count', columns.integer, column => column.notNull())
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addColumn('last_at', columns.integer, column => column.notNull())
      .addColumn('verdict', 'text')
      .addColumn('answered_by', 'text')
      .addColumn('answered_at', columns.integer)
      .addColumn('answer_reason', 'text')
      .execute()
    // The same request of one session waits once, whoever writes.
    await db.schema
      .createIndex('escalations_waiting')
      .on('escalations')
      .columns(['session_id', 'fingerprint'])
      .unique()
      .where(sql.ref('state'), '<>', sql.lit('answered'))
      .execute()
    await db.schema
      .createIndex('escalations_session')
      .on('escalations')
      .columns(['session_id', 'fingerprint'])
      .execute()
    await db.schema.createIndex('escalations_state').on('escalations').columns(['state', 'number']).execute()

    await db.schema
      .createTable('answers')
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('fingerprint', 'text', column => column.notNull())
      .addColumn('tool', 'text', column => column.notNull())
      .addColumn('normalised', 'text', column => column.notNull())
      .addColumn('verdict', 'text', column => column.notNull())
      .addColumn('by', 'text', column => column.notNull())
      .addColumn('answered_at', columns.integer, column => column.notNull())
      .addPrimaryKeyConstraint('answers_key', ['project', 'fingerprint'])
      .execute()
  },
}
