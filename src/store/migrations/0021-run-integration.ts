import type { Migration } from './migration.ts'

/** What a task will touch, and how often what an attempt called done was verified. */
export const runIntegration: Migration = {
  name: 'run integration',
  async up(db, { columns }) {
    await db.schema
      .alterTable('tasks')
      .addColumn('paths', 'text', column => column.notNull().defaultTo(''))
      .execute()
    await db.schema
      .alterTable('attempts')
      .addColumn('rounds', columns.integer, column => column.notNull().defaultTo(0))
      .execute()
  },
}
