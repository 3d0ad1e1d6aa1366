import type { Migration } from '../migration.ts'

/** What people are still to be told, by channel, and how far the events were read for it. */
export const outbox: Migration = {
  name: 'outbox',
  async up(db, { columns }) {
    await db.schema
      .createTable('outbox')
      .addColumn('id', columns.integer, column => column.primaryKey())
      .addColumn('channel', 'text', column => column.notNull())
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('dedup_key', 'text', column => column.notNull())
      .addColumn('body', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('tries', columns.integer, column => column.notNull())
      .addColumn('reminders', columns.integer, column => column.notNull())
      .addColumn('next_at', columns.integer, column => column.notNull())
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addColumn('problem', 'text')
      .execute()
    await db.schema.createIndex('outbox_once').on('outbox').columns(['channel', 'dedup_key']).unique().execute()
    await db.schema.createIndex('outbox_due').on('outbox').columns(['channel', 'state', 'next_at']).execute()
    await db.schema
      .createTable('cursors')
      .addColumn('name', 'text', column => column.primaryKey().notNull())
      .addColumn('event_id', columns.integer, column => column.notNull())
      .execute()
  },
}
