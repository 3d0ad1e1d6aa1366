import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Loops that drain a target, the attempts they made, and which session belongs to which. */
export const runs: Migration = {
  name: 'runs',
  async up(db, { columns }) {
    await db.schema
      .createTable('runs')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('target', 'text', column => column.notNull())
      .addColumn('options', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('outcome', 'text')
      .addColumn('reason', 'text')
      .addColumn('gave_up', 'text')
      .addColumn('stopping', columns.integer, column => column.notNull().defaultTo(0))
      .addColumn('iterations', columns.integer, column => column.notNull().defaultTo(0))
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addColumn('ended_at', columns.integer)
      .execute()
    await db.schema
      .createIndex('runs_open')
      .on('runs')
      .column('project')
      .where(sql.ref('state'), '!=', sql.lit('ended'))
      .execute()
    await db.schema
      .createTable('attempts')
      .addColumn('task_id', 'text', column => column.notNull())
      .addColumn('number', columns.integer, column => column.notNull())
      .addColumn('run_id', 'text', column => column.notNull())
      .addColumn('iteration', columns.integer, column => column.notNull())
      .addColumn('session_id', 'text', column => column.notNull())
      .addColumn('model', 'text')
      .addColumn('outcome', 'text')
      .addColumn('reason', 'text')
      .addColumn('result', 'text')
      .addColumn('next_model', 'text')
      .addColumn('failure', 'text')
      .addColumn('cost_usd', columns.real, column => column.notNull().defaultTo(0))
      .addColumn('started_at', columns.integer, column => column.notNull())
      .addColumn('ended_at', columns.integer)
      .addPrimaryKeyConstraint('attempts_key', ['task_id', 'number'])
      .execute()
    await db.schema.createIndex('attempts_by_run').on('attempts').columns(['run_id', 'iteration']).execute()
    await db.schema.createIndex('attempts_by_session').on('attempts').column('session_id').execute()
  },
}
