import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Runs that are to begin at a time. */
export const schedules: Migration = {
  name: 'schedules',
  async up(db, { columns }) {
    await db.schema
      .createTable('schedules')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('target', 'text', column => column.notNull())
      .addColumn('options', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('at', 'text')
      .addColumn('every', 'text')
      .addColumn('pattern', 'text')
      .addColumn('quota_below', columns.real)
      .addColumn('zone', 'text', column => column.notNull())
      .addColumn('due_at', columns.integer)
      .addColumn('reason', 'text')
      .addColumn('fired', columns.integer, column => column.notNull().defaultTo(0))
      .addColumn('last_fired_at', columns.integer)
      .addColumn('last_run_id', 'text')
      .addColumn('created_at', columns.integer, column => column.notNull())
      .execute()
    await db.schema
      .createIndex('schedules_waiting')
      .on('schedules')
      .column('due_at')
      .where(sql.ref('state'), '=', sql.lit('waiting'))
      .execute()
  },
}
