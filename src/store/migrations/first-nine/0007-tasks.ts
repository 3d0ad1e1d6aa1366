import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

export const tasks: Migration = {
  name: 'tasks',
  async up(db, { columns }) {
    await db.schema
      .createTable('tasks')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('session_id', 'text')
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('title', 'text', column => column.notNull())
      .addColumn('description', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('reason', 'text')
      .addColumn('priority', columns.integer, column => column.notNull())
      .addColumn('open_blockers', columns.integer, column => column.notNull())
      .addColumn('attempt', columns.integer, column => column.notNull())
      .addColumn('max_retries', columns.integer, column => column.notNull())
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addColumn('started_at', columns.integer)
      .addColumn('ended_at', columns.integer)
      .addColumn('wakes_at', columns.integer)
      .addColumn('result', 'text')
      .addColumn('position', columns.integer, column => column.notNull())
      .execute()
    await db.schema.createIndex('tasks_position').on('tasks').column('position').unique().execute()
    await db.schema.createIndex('tasks_session').on('tasks').columns(['session_id', 'position']).execute()
    // The next one to take is the first row of this index, however many are done or blocked.
    await db.schema
      .createIndex('tasks_ready')
      .on('tasks')
      .columns(['session_id', 'priority desc', 'position'])
      .where(sql.ref('state'), '=', sql.lit('ready'))
      .execute()
    // What a session has begun is found without looking at what is done.
    await db.schema
      .createIndex('tasks_begun')
      .on('tasks')
      .column('session_id')
      .where(sql.ref('state'), 'in', sql`('running', 'verifying', 'merging', 'waiting')`)
      .execute()
    // One session has one conversation: the database itself refuses a second task in it.
    await db.schema
      .createIndex('tasks_at_work')
      .on('tasks')
      .column('session_id')
      .unique()
      .where(sql.ref('state'), 'in', sql`('running', 'verifying', 'merging')`)
      .execute()

    await db.schema
      .createTable('task_edges')
      .addColumn('task_id', 'text', column => column.notNull())
      .addColumn('blocker_id', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('task_edges_key', ['task_id', 'blocker_id'])
      .execute()
    await db.schema.createIndex('task_edges_blocker').on('task_edges').column('blocker_id').execute()
  },
}
