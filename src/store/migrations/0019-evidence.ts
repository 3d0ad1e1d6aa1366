import type { Migration } from './migration.ts'

/** What gates saw, and results that need not be found out again. */
export const evidence: Migration = {
  name: 'evidence',
  async up(db, { columns }) {
    await db.schema
      .createTable('evidence')
      .addColumn('id', columns.integer, column => column.primaryKey())
      .addColumn('task_id', 'text', column => column.notNull())
      .addColumn('attempt', columns.integer, column => column.notNull())
      .addColumn('round', columns.integer, column => column.notNull())
      .addColumn('gate', 'text', column => column.notNull())
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('status', 'text', column => column.notNull())
      .addColumn('tree', 'text')
      .addColumn('command', 'text')
      .addColumn('exit', columns.integer)
      .addColumn('duration_ms', columns.integer, column => column.notNull())
      .addColumn('output', 'text', column => column.notNull())
      .addColumn('findings', 'text', column => column.notNull())
      .addColumn('tests', 'text')
      .addColumn('cached', columns.integer, column => column.notNull())
      .addColumn('created_at', columns.integer, column => column.notNull())
      .execute()
    await db.schema.createIndex('evidence_task').on('evidence').columns(['task_id', 'attempt', 'round']).execute()
    await db.schema
      .createTable('gate_results')
      .addColumn('key', 'text', column => column.primaryKey().notNull())
      .addColumn('tree', 'text', column => column.notNull())
      .addColumn('command', 'text', column => column.notNull())
      .addColumn('exit', columns.integer, column => column.notNull())
      .addColumn('duration_ms', columns.integer, column => column.notNull())
      .addColumn('output', 'text', column => column.notNull())
      .addColumn('tests', 'text')
      .addColumn('created_at', columns.integer, column => column.notNull())
      .execute()
    await db.schema.createIndex('gate_results_age').on('gate_results').column('created_at').execute()
  },
}
