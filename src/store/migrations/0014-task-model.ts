import { type SqlBool, sql } from 'kysely'
import type { Migration } from './migration.ts'

/** One model for queues of sessions and for a project's graph of tasks: parts, features, leases, and what a person says of them. */
export const taskModel: Migration = {
  name: 'task model',
  async up(db, { columns }) {
    const texts = ['parent_id', 'feature', 'verification', 'lease_owner', 'run_id', 'budget', 'model']
    for (const name of texts) await db.schema.alterTable('tasks').addColumn(name, 'text').execute()
    const counts = ['children', 'children_open', 'children_failed', 'children_done', 'retries']
    for (const name of counts) {
      const zero = db.schema
        .alterTable('tasks')
        .addColumn(name, columns.integer, column => column.notNull().defaultTo(0))
      await zero.execute()
    }
    for (const [name, begins] of Object.entries({ type: 'task', acceptance: '', labels: '' })) {
      const plain = db.schema.alterTable('tasks').addColumn(name, 'text', column => column.notNull().defaultTo(begins))
      await plain.execute()
    }
    // The next one of a project or feature is the first row of these, however many are done or blocked.
    for (const [name, scope] of Object.entries({
      tasks_free: ['project'],
      tasks_free_feature: ['project', 'feature'],
    })) {
      await db.schema
        .createIndex(name)
        .on('tasks')
        .columns([...scope, 'priority desc', 'position'])
        .where(sql<SqlBool>`state = 'ready' and session_id is null`)
        .execute()
    }
    await db.schema
      .createIndex('tasks_parent')
      .on('tasks')
      .column('parent_id')
      .where(sql<SqlBool>`parent_id is not null`)
      .execute()
    await db.schema.createIndex('tasks_project').on('tasks').columns(['project', 'feature', 'state']).execute()
    await db.schema
      .createIndex('tasks_lease')
      .on('tasks')
      .column('run_id')
      .where(sql<SqlBool>`lease_owner is not null`)
      .execute()
  },
}
