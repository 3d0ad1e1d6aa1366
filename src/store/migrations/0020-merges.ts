import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** The ways of attempts' work into their targets. */
export const merges: Migration = {
  name: 'merges',
  async up(db, { columns }) {
    await db.schema
      .createTable('merges')
      .addColumn('id', columns.integer, column => column.primaryKey())
      .addColumn('task_id', 'text', column => column.notNull())
      .addColumn('attempt', columns.integer, column => column.notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('repository', 'text', column => column.notNull())
      .addColumn('branch', 'text', column => column.notNull())
      .addColumn('target', 'text', column => column.notNull())
      .addColumn('strategy', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('reason', 'text')
      .addColumn('base', 'text')
      .addColumn('head', 'text')
      .addColumn('result', 'text')
      .addColumn('batch', columns.integer)
      .addColumn('as_pull_request', columns.integer, column => column.notNull())
      .addColumn('rounds', columns.integer, column => column.notNull())
      .addColumn('cleaned_at', columns.integer)
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addColumn('updated_at', columns.integer, column => column.notNull())
      .execute()
    await db.schema.createIndex('merges_of_task').on('merges').column('task_id').execute()
    // Written out: what counts as over may change, this migration may not. One row of a task at a time is not over.
    await db.schema
      .createIndex('merges_open')
      .on('merges')
      .column('task_id')
      .unique()
      .where(sql.ref('state'), 'not in', OVER_AS_OF_NOW.map(sql.lit))
      .execute()
    await db.schema
      .createIndex('merges_to_clean')
      .on('merges')
      .column('id')
      .where(sql.ref('state'), '=', sql.lit('merged'))
      .where(sql.ref('cleaned_at'), 'is', sql.lit(null))
      .execute()
  },
}

const OVER_AS_OF_NOW = ['merged', 'proposed', 'failed', 'aborted']
