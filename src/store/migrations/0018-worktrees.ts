import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Where each attempt at a task works, or worked. */
export const worktrees: Migration = {
  name: 'worktrees',
  async up(db, { columns }) {
    await db.schema
      .createTable('worktrees')
      .addColumn('task', 'text', column => column.notNull())
      .addColumn('attempt', columns.integer, column => column.notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('repository', 'text', column => column.notNull())
      .addColumn('directory', 'text', column => column.notNull())
      .addColumn('top', 'text', column => column.notNull())
      .addColumn('branch', 'text', column => column.notNull())
      .addColumn('target', 'text', column => column.notNull())
      .addColumn('base', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('reason', 'text')
      .addColumn('archive', 'text')
      .addColumn('setup', 'text')
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addColumn('ended_at', columns.integer)
      .addPrimaryKeyConstraint('worktrees_key', ['task', 'attempt'])
      .execute()
    await db.schema
      .createIndex('worktrees_there')
      .on('worktrees')
      .column('project')
      .where(sql.ref('state'), 'in', [sql.lit('making'), sql.lit('live')])
      .execute()
  },
}
