import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'

/** What was spent, one row for each task, session, day and project. What sessions spent before is taken over. */
export const budgets: Migration = {
  name: 'budgets',
  async up(db, { columns }) {
    await db.schema
      .createTable('spending')
      .addColumn('scope', 'text', column => column.notNull())
      .addColumn('key', 'text', column => column.notNull())
      .addColumn('turns', columns.integer, column => column.notNull())
      .addColumn('tokens', columns.integer, column => column.notNull())
      .addColumn('cost_usd', columns.real, column => column.notNull())
      .addColumn('wall_minutes', columns.real, column => column.notNull())
      .addColumn('updated_at', columns.integer, column => column.notNull())
      .addPrimaryKeyConstraint('spending_key', ['scope', 'key'])
      .execute()
    await sql`
      insert into spending (scope, key, turns, tokens, cost_usd, wall_minutes, updated_at)
      select 'session', id, turns, input_tokens + output_tokens, cost_usd, 0, created_at from sessions`.execute(db)
    await sql`
      insert into spending (scope, key, turns, tokens, cost_usd, wall_minutes, updated_at)
      select 'project', project, sum(turns), sum(input_tokens + output_tokens), sum(cost_usd), 0, max(created_at)
        from sessions group by project`.execute(db)
  },
}

/**
 * Events stay append-only but for one way: rows of a subject that is listed in `event_pruning` may be deleted. The list is
 * filled and emptied inside of the transaction that prunes, so nothing else ever sees it filled.
 */
export const prunableEvents: Migration = {
  name: 'prunable events',
  async up(db, { prunable }) {
    await db.schema
      .createTable('event_pruning')
      .addColumn('subject', 'text', column => column.primaryKey().notNull())
      .execute()
    for (const statement of prunable('events', 'event_pruning')) await sql.raw(statement).execute(db)
  },
}

/** Loops that drain a target, the attempts they made, and which session belongs to which. */
export const runs: Migration = {
  name: 'runs',
  async up(db, { columns }) {
    await db.schema
      .createTable('runs')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('target', 'text', column => column.notNull())
      .addColumn('options', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('outcome', 'text')
      .addColumn('reason', 'text')
      .addColumn('gave_up', 'text')
      .addColumn('stopping', columns.integer, column => column.notNull().defaultTo(0))
      .addColumn('iterations', columns.integer, column => column.notNull().defaultTo(0))
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addColumn('ended_at', columns.integer)
      .execute()
    await db.schema
      .createIndex('runs_open')
      .on('runs')
      .column('project')
      .where(sql.ref('state'), '!=', sql.lit('ended'))
      .execute()
    await db.schema
      .createTable('attempts')
      .addColumn('task_id', 'text', column => column.notNull())
      .addColumn('number', columns.integer, column => column.notNull())
      .addColumn('run_id', 'text', column => column.notNull())
      .addColumn('iteration', columns.integer, column => column.notNull())
      .addColumn('session_id', 'text', column => column.notNull())
      .addColumn('model', 'text')
      .addColumn('outcome', 'text')
      .addColumn('reason', 'text')
      .addColumn('result', 'text')
      .addColumn('next_model', 'text')
      .addColumn('failure', 'text')
      .addColumn('cost_usd', columns.real, column => column.notNull().defaultTo(0))
      .addColumn('started_at', columns.integer, column => column.notNull())
      .addColumn('ended_at', columns.integer)
      .addPrimaryKeyConstraint('attempts_key', ['task_id', 'number'])
      .execute()
    await db.schema.createIndex('attempts_by_run').on('attempts').columns(['run_id', 'iteration']).execute()
    await db.schema.createIndex('attempts_by_session').on('attempts').column('session_id').execute()
  },
}

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

/** What an attempt leaves behind for those after it, and an index by its words. */
export const journal: Migration = {
  name: 'journal',
  async up(db, { columns, wordIndex }) {
    const zero = db.schema
      .alterTable('attempts')
      .addColumn('files_more', columns.integer, column => column.notNull().defaultTo(0))
    await zero.execute()
    for (const [name, begins] of Object.entries({ title: '', files: '[]' })) {
      const plain = db.schema
        .alterTable('attempts')
        .addColumn(name, 'text', column => column.notNull().defaultTo(begins))
      await plain.execute()
    }
    for (const name of ['feature', 'notes']) await db.schema.alterTable('attempts').addColumn(name, 'text').execute()
    // Those that are over already keep what is known of them.
    await sql`update attempts set
      title = coalesce((select title from tasks where tasks.id = attempts.task_id), ''),
      feature = (select feature from tasks where tasks.id = attempts.task_id),
      notes = substr(result, 1, 2000)`.execute(db)
    await sql`create index attempts_ended on attempts (run_id, ended_at)`.execute(db)
    const index = {
      name: 'journal_words',
      table: 'attempts',
      keys: ['task_id', 'number'],
      columns: ['title', 'notes', 'reason', 'files'],
      once: 'outcome',
    }
    for (const statement of wordIndex(index)) await sql.raw(statement).execute(db)
  },
}

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

/** Runs that are to begin at a time. */
export const schedules: Migration = {
  name: 'schedules',
  async up(db, { columns }) {
    await db.schema
      .createTable('schedules')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('target', 'text', column => column.notNull())
      .addColumn('options', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('at', 'text')
      .addColumn('every', 'text')
      .addColumn('pattern', 'text')
      .addColumn('quota_below', columns.real)
      .addColumn('zone', 'text', column => column.notNull())
      .addColumn('due_at', columns.integer)
      .addColumn('reason', 'text')
      .addColumn('fired', columns.integer, column => column.notNull().defaultTo(0))
      .addColumn('last_fired_at', columns.integer)
      .addColumn('last_run_id', 'text')
      .addColumn('created_at', columns.integer, column => column.notNull())
      .execute()
    await db.schema
      .createIndex('schedules_waiting')
      .on('schedules')
      .column('due_at')
      .where(sql.ref('state'), '=', sql.lit('waiting'))
      .execute()
  },
}

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

/** What gates saw, and results that need not be found out again. */
export const evidence: Migration = {
  name: 'evidence',
  async up(db, { columns }) {
    await db.schema
      .createTable('evidence')
      .addColumn('id', columns.integer, column => column.primaryKey())
      .addColumn('task_id', 'text', column => column.notNull())
      .addColumn('attempt', columns.integer, column => column.notNull())
      .addColumn('round', columns.integer, column => column.notNull())
      .addColumn('gate', 'text', column => column.notNull())
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('status', 'text', column => column.notNull())
      .addColumn('tree', 'text')
      .addColumn('command', 'text')
      .addColumn('exit', columns.integer)
      .addColumn('duration_ms', columns.integer, column => column.notNull())
      .addColumn('output', 'text', column => column.notNull())
      .addColumn('findings', 'text', column => column.notNull())
      .addColumn('tests', 'text')
      .addColumn('cached', columns.integer, column => column.notNull())
      .addColumn('created_at', columns.integer, column => column.notNull())
      .execute()
    await db.schema.createIndex('evidence_task').on('evidence').columns(['task_id', 'attempt', 'round']).execute()
    await db.schema
      .createTable('gate_results')
      .addColumn('key', 'text', column => column.primaryKey().notNull())
      .addColumn('tree', 'text', column => column.notNull())
      .addColumn('command', 'text', column => column.notNull())
      .addColumn('exit', columns.integer, column => column.notNull())
      .addColumn('duration_ms', columns.integer, column => column.notNull())
      .addColumn('output', 'text', column => column.notNull())
      .addColumn('tests', 'text')
      .addColumn('created_at', columns.integer, column => column.notNull())
      .execute()
    await db.schema.createIndex('gate_results_age').on('gate_results').column('created_at').execute()
  },
}

/** The ways of attempts' work into their targets. */
export const merges: Migration = {
  name: 'merges',
  async up(db, { columns }) {
    await db.schema
      .createTable('merges')
      .addColumn('id', columns.integer, column => column.primaryKey())
      .addColumn('task_id', 'text', column => column.notNull())
      .addColumn('attempt', columns.integer, column => column.notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('repository', 'text', column => column.notNull())
      .addColumn('branch', 'text', column => column.notNull())
      .addColumn('target', 'text', column => column.notNull())
      .addColumn('strategy', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('reason', 'text')
      .addColumn('base', 'text')
      .addColumn('head', 'text')
      .addColumn('result', 'text')
      .addColumn('batch', columns.integer)
      .addColumn('as_pull_request', columns.integer, column => column.notNull())
      .addColumn('rounds', columns.integer, column => column.notNull())
      .addColumn('cleaned_at', columns.integer)
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addColumn('updated_at', columns.integer, column => column.notNull())
      .execute()
    await db.schema.createIndex('merges_of_task').on('merges').column('task_id').execute()
    // Written out: what counts as over may change, this migration may not. One row of a task at a time is not over.
    await db.schema
      .createIndex('merges_open')
      .on('merges')
      .column('task_id')
      .unique()
      .where(sql.ref('state'), 'not in', OVER_AS_OF_NOW.map(sql.lit))
      .execute()
    await db.schema
      .createIndex('merges_to_clean')
      .on('merges')
      .column('id')
      .where(sql.ref('state'), '=', sql.lit('merged'))
      .where(sql.ref('cleaned_at'), 'is', sql.lit(null))
      .execute()
  },
}

const OVER_AS_OF_NOW = ['merged', 'proposed', 'failed', 'aborted']

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

/**
 * Fewer indexes to write with every claim and every finish, which were a seventh of their time. What belongs to no session is
 * not found by its session; and what a session works on is found among its few tasks.
 */
export const taskIndexes: Migration = {
  name: 'task indexes',
  async up(db) {
    for (const change of [
      'drop index tasks_begun',
      'drop index tasks_session',
      'create index tasks_session on tasks (session_id, position) where session_id is not null',
    ])
      await sql.raw(change).execute(db)
  },
}

/** The tasks of a project in the order of their list: sorting ten thousand of them took a third of the time of listing them. */
export const taskList: Migration = {
  name: 'task list',
  async up(db) {
    await db.schema.createIndex('tasks_listed').on('tasks').columns(['project', 'position']).execute()
  },
}
