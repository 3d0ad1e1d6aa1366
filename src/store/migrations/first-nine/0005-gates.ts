import type { Migration } from '../migration.ts'

export const gates: Migration = {
  name: 'gates',
  async up(db, { columns }) {
    await db.schema
      .createTable('gates')
      .addColumn('account', 'text', column => column.primaryKey().notNull())
      .addColumn('closed_until', columns.integer)
      .addColumn('window', 'text')
      .addColumn('source', 'text')
      .addColumn('reason', 'text')
      .addColumn('probes', columns.integer, column => column.notNull())
      .addColumn('closed_at', columns.integer)
      .addColumn('held', columns.integer, column => column.notNull())
      .addColumn('held_by', 'text')
      .addColumn('held_at', columns.integer)
      .addColumn('updated_at', columns.integer, column => column.notNull())
      .execute()
  },
}
