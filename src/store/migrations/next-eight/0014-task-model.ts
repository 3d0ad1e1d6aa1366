import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/**
 * Every index is one more page for each claim and finish that touches it: each holds only the rows that are looked for by it.
 * Those of a session's queue leave out what is in no queue; what is next is the first row, however many are done or blocked.
 */
const INDEXES = [
  `create index tasks_ready on tasks (session_id, priority desc, position)
     where state = 'ready' and session_id is not null`,
  `create index tasks_begun on tasks (session_id)
     where state in ('running', 'verifying', 'merging', 'waiting') and session_id is not null`,
  // One session has one conversation: the database itself refuses a second task in it.
  `create unique index tasks_at_work on tasks (session_id)
     where state in ('running', 'verifying', 'merging') and session_id is not null`,
  `create index tasks_free on tasks (project, priority desc, position) where state = 'ready' and session_id is null`,
  `create index tasks_free_feature on tasks (project, feature, priority desc, position)
     where state = 'ready' and session_id is null and feature is not null`,
  'create index tasks_parent on tasks (parent_id) where parent_id is not null',
  'create index tasks_project on tasks (project, feature)',
]

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
    for (const name of ['tasks_ready', 'tasks_begun', 'tasks_at_work']) await db.schema.dropIndex(name).execute()
    for (const statement of INDEXES) await sql.raw(statement).execute(db)
  },
}
