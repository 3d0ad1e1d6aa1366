import { sql } from 'kysely'
import type { Migration } from './migrate.ts'

const FIRST_TABLES = `
-- Events are append-only, except that rows of a subject listed in event_pruning may be deleted.
-- The list is filled and emptied inside the transaction that prunes.
create table events (
  id integer primary key, time integer not null, actor text not null, schema_version integer not null,
  subject text not null, kind text not null, body text not null
);
create index events_subject on events (subject, id);

create table event_pruning (
  subject text not null primary key
);

-- recoveries counts how often in a row a session was resumed after its daemon died without a word from the
-- model in between; intent is what a person asked of it that is not done yet.
create table sessions (
  id text not null primary key, name text not null, project text not null, task text not null,
  agent text not null, model text, vendor_id text, options text not null, owner text, state text not null,
  status_reason text, ended_as text, created_at integer not null, started_at integer, ended_at integer,
  resumes_at integer, activity text, plan text not null, input_tokens integer not null,
  output_tokens integer not null, context_tokens integer not null, context_window integer not null,
  cost_usd real not null, turns integer not null, tools_auto integer not null, tools_human integer not null,
  tools_denied integer not null, questions_auto integer not null, questions_human integer not null, parked text,
  account text, marker text, agent_pid integer, agent_started text, task_id text,
  retries integer default 0 not null, priority integer default 0 not null, held_at integer,
  recoveries integer default 0 not null, intent text
);
create index sessions_project on sessions (project, created_at);
create index sessions_name on sessions (name);
create index sessions_waking on sessions (resumes_at) where resumes_at is not null;

-- What waits for a person. The unique indexes keep the same thing from being asked twice, whoever writes.
create table escalations (
  number integer primary key, kind text not null, session_id text not null, project text not null,
  call_id text not null, tool text not null, target text not null, input text not null, risk text not null,
  reason text not null, normalised text not null, fingerprint text not null, state text not null,
  count integer not null, created_at integer not null, last_at integer not null, verdict text, answered_by text,
  answered_at integer, answer_reason text, task text default '' not null, reasons text default '[]' not null,
  answer text, priority integer default 0 not null, context text default '{}' not null, dedup_key text,
  deadline integer, on_deadline text default 'keep_waiting' not null
);
create index escalations_session on escalations (session_id, fingerprint);
create index escalations_state on escalations (state, number);
create unique index escalations_waiting on escalations (session_id, fingerprint) where state in ('open', 'denied');
create unique index escalations_shared on escalations (dedup_key) where state = 'open';
create index escalations_deadline on escalations (deadline) where state = 'open';

-- The sessions that share one escalation.
create table escalation_sessions (
  number integer not null, session_id text not null, call_id text not null, primary key (number, session_id)
);
create index escalation_sessions_session on escalation_sessions (session_id, number);

-- Remembered answers to permissions and questions.
create table answers (
  id text not null primary key, kind text not null, project text not null, fingerprint text not null,
  tool text not null, normalised text not null, asked text not null, verdict text, answer text,
  "by" text not null, answered_at integer not null, session_id text, lasting integer not null
);
create unique index answers_request on answers (project, fingerprint);

-- Notices that are still to be sent, by channel.
create table outbox (
  id integer primary key, channel text not null, kind text not null, dedup_key text not null, body text not null,
  state text not null, tries integer not null, reminders integer not null, next_at integer not null,
  created_at integer not null, problem text
);
create unique index outbox_once on outbox (channel, dedup_key);
create index outbox_due on outbox (channel, state, next_at);

-- How far the event log has been read, by reader.
create table cursors (
  name text not null primary key, event_id integer not null
);

-- Accounts that may not be used until a time.
create table gates (
  account text not null primary key, closed_until integer, "window" text, source text, reason text,
  probes integer not null, closed_at integer, held integer not null, held_by text, held_at integer,
  updated_at integer not null
);

-- How full the windows of accounts are, and were.
create table quota_accounts (
  account text not null primary key, label text not null, place text, updated_at integer not null
);

create table quota_windows (
  account text not null, "window" text not null, source text not null, at integer not null,
  utilization real not null, resets_at integer, primary key (account, "window", source)
);

create table quota_history (
  account text not null, "window" text not null, source text not null, at integer not null,
  utilization real not null, resets_at integer, primary key (account, "window", source, at)
);
create index quota_history_at on quota_history (at);

-- What was spent, one row for each task, session, day and project.
create table spending (
  scope text not null, "key" text not null, turns integer not null, tokens integer not null,
  cost_usd real not null, wall_minutes real not null, updated_at integer not null, primary key (scope, "key")
);

-- Every index costs a page write with each claim and finish, so each holds only the rows that are looked up by it.
-- One session has one conversation: tasks_at_work refuses a second task in it.
create table tasks (
  id text not null primary key, session_id text, project text not null, title text not null,
  description text not null, state text not null, reason text, priority integer not null,
  open_blockers integer not null, attempt integer not null, max_retries integer not null,
  created_at integer not null, started_at integer, ended_at integer, wakes_at integer, result text,
  position integer not null, parent_id text, feature text, verification text, lease_owner text, run_id text,
  budget text, model text, children integer default 0 not null, children_open integer default 0 not null,
  children_failed integer default 0 not null, children_done integer default 0 not null,
  retries integer default 0 not null, type text default 'task' not null, acceptance text default '' not null,
  labels text default '' not null, paths text default '' not null
);
create unique index tasks_position on tasks (position);
create index tasks_ready on tasks (session_id, priority desc, position) where state = 'ready' and session_id is not null;
create unique index tasks_at_work on tasks (session_id) where state in ('running', 'verifying', 'merging') and session_id is not null;
create index tasks_free on tasks (project, priority desc, position) where state = 'ready' and session_id is null;
create index tasks_free_feature on tasks (project, feature, priority desc, position) where state = 'ready' and session_id is null and feature is not null;
create index tasks_parent on tasks (parent_id) where parent_id is not null;
create index tasks_project on tasks (project, feature);
create index tasks_session on tasks (session_id, position) where session_id is not null;
create index tasks_listed on tasks (project, position);

create table task_edges (
  task_id text not null, blocker_id text not null, primary key (task_id, blocker_id)
);
create index task_edges_blocker on task_edges (blocker_id);

-- Loops that drain a target.
create table runs (
  id text not null primary key, project text not null, target text not null, options text not null,
  state text not null, outcome text, reason text, gave_up text, stopping integer default 0 not null,
  iterations integer default 0 not null, created_at integer not null, ended_at integer
);
create index runs_open on runs (project) where state != 'ended';

-- Each try at a task by a run, and what it leaves behind for those after it.
create table attempts (
  task_id text not null, number integer not null, run_id text not null, iteration integer not null,
  session_id text not null, model text, outcome text, reason text, result text, next_model text, failure text,
  cost_usd real default 0 not null, started_at integer not null, ended_at integer,
  files_more integer default 0 not null, title text default '' not null, files text default '[]' not null,
  feature text, notes text, rounds integer default 0 not null, primary key (task_id, number)
);
create index attempts_by_run on attempts (run_id, iteration);
create index attempts_by_session on attempts (session_id);
create index attempts_ended on attempts (run_id, ended_at);

-- How far each feature is; its spec and plan are files of the project.
create table features (
  id text not null primary key, project text not null, name text not null, phase text not null,
  "until" text not null, session_id text, source text, options text not null, draft text not null, problem text,
  created_at integer not null, updated_at integer not null, unique (project, name)
);

-- Runs that begin at a time.
create table schedules (
  id text not null primary key, project text not null, target text not null, options text not null,
  state text not null, at text, "every" text, pattern text, quota_below real, zone text not null, due_at integer,
  reason text, fired integer default 0 not null, last_fired_at integer, last_run_id text,
  created_at integer not null
);
create index schedules_waiting on schedules (due_at) where state = 'waiting';

-- Where each attempt at a task works, or worked.
create table worktrees (
  task text not null, attempt integer not null, project text not null, repository text not null,
  directory text not null, top text not null, branch text not null, target text not null, base text not null,
  state text not null, reason text, archive text, setup text, created_at integer not null, ended_at integer,
  primary key (task, attempt)
);
create index worktrees_there on worktrees (project) where state in ('making', 'live');

-- What gates saw.
create table evidence (
  id integer primary key, task_id text not null, attempt integer not null, round integer not null,
  gate text not null, kind text not null, status text not null, tree text, command text, exit integer,
  duration_ms integer not null, output text not null, findings text not null, tests text, cached integer not null,
  created_at integer not null
);
create index evidence_task on evidence (task_id, attempt, round);

-- Results of gates that need not be run again.
create table gate_results (
  "key" text not null primary key, tree text not null, command text not null, exit integer not null,
  duration_ms integer not null, output text not null, tests text, created_at integer not null
);
create index gate_results_age on gate_results (created_at);

-- How an attempt's work gets into its target. A task has one merge that is not over.
create table merges (
  id integer primary key, task_id text not null, attempt integer not null, project text not null,
  repository text not null, branch text not null, target text not null, strategy text not null,
  state text not null, reason text, base text, head text, result text, batch integer,
  as_pull_request integer not null, rounds integer not null, cleaned_at integer, created_at integer not null,
  updated_at integer not null
);
create index merges_of_task on merges (task_id);
create unique index merges_open on merges (task_id) where state not in ('merged', 'proposed', 'failed', 'aborted');
create index merges_to_clean on merges (id) where state = 'merged' and cleaned_at is null;
`

/** The journal is searched by words; an attempt is indexed once its outcome is known. */
const JOURNAL_WORDS = {
  name: 'journal_words',
  table: 'attempts',
  keys: ['task_id', 'number'],
  columns: ['title', 'notes', 'reason', 'files'],
  once: 'outcome',
}

/** Everything that a new home needed at schema 23. A home that went through the 23 steps before this one has the same schema and number. */
export const firstSchema: Migration = {
  number: 23,
  name: 'first schema',
  async up(db, { columns, appendOnly, wordIndex }) {
    const own = FIRST_TABLES.replace(/^--.*$/gm, '').replace(
      /\b(integer|real)\b/g,
      type => `${columns[type as 'integer' | 'real']}`,
    )
    const statements = own.split(';').filter(statement => statement.trim() !== '')
    for (const statement of [...statements, ...appendOnly('events', 'event_pruning'), ...wordIndex(JOURNAL_WORDS)])
      await sql.raw(statement).execute(db)
  },
}
