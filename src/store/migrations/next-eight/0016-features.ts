import type { Migration } from '../migration.ts'

/** How far each feature is; its spec and its plan are files of the project. */
export const features: Migration = {
  name: 'features',
  async up(db, { columns }) {
    await db.schema
      .createTable('features')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('phase', 'text', column => column.notNull())
      .addColumn('until', 'text', column => column.notNull())
      .addColumn('session_id', 'text')
      .addColumn('source', 'text')
      .addColumn('options', 'text', column => column.notNull())
      .addColumn('draft', 'text', column => column.notNull())
      .addColumn('problem', 'text')
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addColumn('updated_at', columns.integer, column => column.notNull())
      .addUniqueConstraint('features_named', ['project', 'name'])
      .execute()
  },
}
