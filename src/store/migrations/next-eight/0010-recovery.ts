import type { Migration } from '../migration.ts'

/**
 * How often in a row a session was taken up after its daemon had died, without a word from the model in between; and what a
 * person has asked of it that is not done yet.
 */
export const recovery: Migration = {
  name: 'recovery',
  async up(db, { columns }) {
    await db.schema
      .alterTable('sessions')
      .addColumn('recoveries', columns.integer, column => column.notNull().defaultTo(0))
      .execute()
    await db.schema.alterTable('sessions').addColumn('intent', 'text').execute()
  },
}
