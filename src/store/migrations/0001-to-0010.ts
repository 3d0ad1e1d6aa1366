import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'

export const eventsAndSessions: Migration = {
  name: 'events and sessions',
  async up(db, { columns, appendOnly }) {
    await db.schema
      .createTable('events')
      .addColumn('id', columns.integer, column => column.primaryKey())
      .addColumn('time', columns.integer, column => column.notNull())
      .addColumn('actor', 'text', column => column.notNull())
      .addColumn('schema_version', columns.integer, column => column.notNull())
      .addColumn('subject', 'text', column => column.notNull())
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('body', 'text', column => column.notNull())
      .execute()
    await db.schema.createIndex('events_subject').on('events').columns(['subject', 'id']).execute()
    for (const statement of appendOnly('events')) await sql.raw(statement).execute(db)

    await db.schema
      .createTable('sessions')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('task', 'text', column => column.notNull())
      .addColumn('agent', 'text', column => column.notNull())
      .addColumn('model', 'text')
      .addColumn('vendor_id', 'text')
      .addColumn('options', 'text', column => column.notNull())
      .addColumn('owner', 'text')
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('status_reason', 'text')
      .addColumn('ended_as', 'text')
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addColumn('started_at', columns.integer)
      .addColumn('ended_at', columns.integer)
      .addColumn('resumes_at', columns.integer)
      .addColumn('activity', 'text')
      .addColumn('plan', 'text', column => column.notNull())
      .addColumn('input_tokens', columns.integer, column => column.notNull())
      .addColumn('output_tokens', columns.integer, column => column.notNull())
      .addColumn('context_tokens', columns.integer, column => column.notNull())
      .addColumn('context_window', columns.integer, column => column.notNull())
      .addColumn('cost_usd', columns.real, column => column.notNull())
      .addColumn('turns', columns.integer, column => column.notNull())
      .addColumn('tools_auto', columns.integer, column => column.notNull())
      .addColumn('tools_human', columns.integer, column => column.notNull())
      .addColumn('tools_denied', columns.integer, column => column.notNull())
      .addColumn('questions_auto', columns.integer, column => column.notNull())
      .addColumn('questions_human', columns.integer, column => column.notNull())
      .addColumn('parked', 'text')
      .addColumn('account', 'text')
      .addColumn('marker', 'text')
      .addColumn('agent_pid', columns.integer)
      .addColumn('agent_started', 'text')
      .execute()
    await db.schema.createIndex('sessions_project').on('sessions').columns(['project', 'created_at']).execute()
    await db.schema.createIndex('sessions_name').on('sessions').column('name').execute()
  },
}

export const escalationsAndAnswers: Migration = {
  name: 'escalations and answers',
  async up(db, { columns }) {
    await db.schema
      .createTable('escalations')
      .addColumn('number', columns.integer, column => column.primaryKey())
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('session_id', 'text', column => column.notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('call_id', 'text', column => column.notNull())
      .addColumn('tool', 'text', column => column.notNull())
      .addColumn('target', 'text', column => column.notNull())
      .addColumn('input', 'text', column => column.notNull())
      .addColumn('risk', 'text', column => column.notNull())
      .addColumn('reason', 'text', column => column.notNull())
      .addColumn('normalised', 'text', column => column.notNull())
      .addColumn('fingerprint', 'text', column => column.notNull())
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('count', columns.integer, column => column.notNull())
      .addColumn('created_at', columns.integer, column => column.notNull())
      .addColumn('last_at', columns.integer, column => column.notNull())
      .addColumn('verdict', 'text')
      .addColumn('answered_by', 'text')
      .addColumn('answered_at', columns.integer)
      .addColumn('answer_reason', 'text')
      .execute()
    // The same request of one session waits once, whoever writes.
    await db.schema
      .createIndex('escalations_waiting')
      .on('escalations')
      .columns(['session_id', 'fingerprint'])
      .unique()
      .where(sql.ref('state'), '<>', sql.lit('answered'))
      .execute()
    await db.schema
      .createIndex('escalations_session')
      .on('escalations')
      .columns(['session_id', 'fingerprint'])
      .execute()
    await db.schema.createIndex('escalations_state').on('escalations').columns(['state', 'number']).execute()

    await db.schema
      .createTable('answers')
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('fingerprint', 'text', column => column.notNull())
      .addColumn('tool', 'text', column => column.notNull())
      .addColumn('normalised', 'text', column => column.notNull())
      .addColumn('verdict', 'text', column => column.notNull())
      .addColumn('by', 'text', column => column.notNull())
      .addColumn('answered_at', columns.integer, column => column.notNull())
      .addPrimaryKeyConstraint('answers_key', ['project', 'fingerprint'])
      .execute()
  },
}

/** What a parked request needs beside what a refused one has: context to judge by, an answer in words, and a way out unanswered. */
export const openDecisions: Migration = {
  name: 'open decisions',
  async up(db) {
    await db.schema
      .alterTable('escalations')
      .addColumn('task', 'text', column => column.notNull().defaultTo(''))
      .execute()
    await db.schema
      .alterTable('escalations')
      .addColumn('reasons', 'text', column => column.notNull().defaultTo('[]'))
      .execute()
    await db.schema.alterTable('escalations').addColumn('answer', 'text').execute()
    // A withdrawn row waits no more than an answered one.
    await db.schema.dropIndex('escalations_waiting').execute()
    await db.schema
      .createIndex('escalations_waiting')
      .on('escalations')
      .columns(['session_id', 'fingerprint'])
      .unique()
      .where(sql.ref('state'), 'in', sql`('open', 'denied')`)
      .execute()
  },
}

/** What a session needs to wait for a limit, a retry or its turn, and to go on by itself. */
export const sessionWaits: Migration = {
  name: 'session waits',
  async up(db, { columns }) {
    await db.schema.alterTable('sessions').addColumn('task_id', 'text').execute()
    await db.schema
      .alterTable('sessions')
      .addColumn('retries', columns.integer, column => column.notNull().defaultTo(0))
      .execute()
    await db.schema
      .alterTable('sessions')
      .addColumn('priority', columns.integer, column => column.notNull().defaultTo(0))
      .execute()
    await db.schema.alterTable('sessions').addColumn('held_at', columns.integer).execute()
    await db.schema
      .createIndex('sessions_waking')
      .on('sessions')
      .column('resumes_at')
      .where(sql.ref('resumes_at'), 'is not', null)
      .execute()
  },
}

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

/** One table of remembered answers, to questions too; one decision for several sessions; priority, context and deadline. */
export const rememberedAndShared: Migration = {
  name: 'remembered questions and shared decisions',
  async up(db, { columns }) {
    const escalations = () => db.schema.alterTable('escalations')
    await escalations()
      .addColumn('priority', columns.integer, column => column.notNull().defaultTo(0))
      .execute()
    await escalations()
      .addColumn('context', 'text', column => column.notNull().defaultTo('{}'))
      .execute()
    await escalations().addColumn('dedup_key', 'text').execute()
    await escalations().addColumn('deadline', columns.integer).execute()
    await escalations()
      .addColumn('on_deadline', 'text', column => column.notNull().defaultTo('keep_waiting'))
      .execute()
    // The same question of a project is open once, whoever writes.
    await db.schema
      .createIndex('escalations_shared')
      .on('escalations')
      .column('dedup_key')
      .unique()
      .where(sql.ref('state'), '=', sql.lit('open'))
      .execute()
    await db.schema
      .createIndex('escalations_deadline')
      .on('escalations')
      .column('deadline')
      .where(sql.ref('state'), '=', sql.lit('open'))
      .execute()

    await db.schema
      .createTable('escalation_sessions')
      .addColumn('number', columns.integer, column => column.notNull())
      .addColumn('session_id', 'text', column => column.notNull())
      .addColumn('call_id', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('escalation_sessions_key', ['number', 'session_id'])
      .execute()
    await db.schema
      .createIndex('escalation_sessions_session')
      .on('escalation_sessions')
      .columns(['session_id', 'number'])
      .execute()
    await sql`
      insert into escalation_sessions (number, session_id, call_id)
      select number, session_id, call_id from escalations`.execute(db)

    // A verdict may be absent now, and no database lets a column forget that it may not: the table is made anew.
    await db.schema
      .createTable('answers_anew')
      .addColumn('id', 'text', column => column.primaryKey().notNull())
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('fingerprint', 'text', column => column.notNull())
      .addColumn('tool', 'text', column => column.notNull())
      .addColumn('normalised', 'text', column => column.notNull())
      .addColumn('asked', 'text', column => column.notNull())
      .addColumn('verdict', 'text')
      .addColumn('answer', 'text')
      .addColumn('by', 'text', column => column.notNull())
      .addColumn('answered_at', columns.integer, column => column.notNull())
      .addColumn('session_id', 'text')
      .addColumn('lasting', columns.integer, column => column.notNull())
      .execute()
    await sql`
      insert into answers_anew
        (id, kind, project, fingerprint, tool, normalised, asked, verdict, "by", answered_at, lasting)
      select 'a-' || row_number() over (order by answered_at, project, fingerprint),
             'permission', project, fingerprint, tool, normalised, normalised, verdict, "by", answered_at, 0
        from answers`.execute(db)
    await db.schema.dropTable('answers').execute()
    await db.schema.alterTable('answers_anew').renameTo('answers').execute()
    await db.schema.createIndex('answers_request').on('answers').columns(['project', 'fingerprint']).unique().execute()
  },
}

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
