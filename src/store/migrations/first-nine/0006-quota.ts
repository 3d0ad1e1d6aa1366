import type { Migration } from '../migration.ts'

export const quota: Migration = {
  name: 'quota',
  async up(db, { columns }) {
    await db.schema
      .createTable('quota_accounts')
      .addColumn('account', 'text', column => column.primaryKey().notNull())
      .addColumn('label', 'text', column => column.notNull())
      .addColumn('place', 'text')
      .addColumn('updated_at', columns.integer, column => column.notNull())
      .execute()
    for (const table of ['quota_windows', 'quota_history']) {
      const key = ['account', 'window', 'source', ...(table === 'quota_history' ? ['at'] : [])]
      await db.schema
        .createTable(table)
        .addColumn('account', 'text', column => column.notNull())
        .addColumn('window', 'text', column => column.notNull())
        .addColumn('source', 'text', column => column.notNull())
        .addColumn('at', columns.integer, column => column.notNull())
        .addColumn('utilization', columns.real, column => column.notNull())
        .addColumn('resets_at', columns.integer)
        .addPrimaryKeyConstraint(`${table}_key`, key as never)
        .execute()
    }
    await db.schema.createIndex('quota_history_at').on('quota_history').column('at').execute()
  },
}
