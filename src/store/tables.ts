import type { Generated, Selectable } from 'kysely'
import type { AcceptedFile } from '../base/accepted-file.ts'
import type { StoredJson } from '../base/json.ts'
import type { ApiKey, AuditEntry } from '../domain/access.ts'
import type { AgentChoice, HandOver } from '../domain/agent-choice.ts'
import type { SessionState, StartSession } from '../domain/api.ts'
import type { PastAttempt, RunOutcome } from '../domain/attempt.ts'
import type { Amounts, BudgetScope, Purpose, PurposeAmounts } from '../domain/budget.ts'
import type { Escalation } from '../domain/escalation.ts'
import type { EventBody } from '../domain/event.ts'
import type { CompletionProgress, Evidence, NewEvidence, TestResult } from '../domain/evidence.ts'
import type { FeatureOptions, FeaturePosition } from '../domain/feature.ts'
import type { FeaturePhase, FeatureUntil } from '../domain/feature-phase.ts'
import type { ObservedSession } from '../domain/hook-capture.ts'
import type { AccountGate } from '../domain/limit.ts'
import type { Merge } from '../domain/merge.ts'
import type { QuotaWindow } from '../domain/quota.ts'
import type { RememberedAnswer } from '../domain/remembered-answer.ts'
import type { RunOptions, RunPosition, RunState, RunTarget } from '../domain/run.ts'
import type { ScheduleView } from '../domain/schedule.ts'
import type { FailureKind, PlanItem } from '../domain/session.ts'
import type { EndedAs } from '../domain/session-end.ts'
import type { Task } from '../domain/task.ts'
import type { ImportedTask } from '../domain/task-requests.ts'
import type { WebhookDelivery } from '../domain/webhook.ts'
import type { Worktree, WorktreeRow } from '../domain/worktree.ts'

/** A row as the database has it, with these columns as JSON. */
type AsStored<Row, Column extends keyof Row> = Omit<Row, Column> & {
  [Name in Column]: null extends Row[Name] ? StoredJson | null : StoredJson
}

/** The tables as they are in the database: JSON is text here (`StoredJson`), and the store parses it. Times are milliseconds. */
export interface Tables {
  events: EventsTable
  sessions: SessionsTable
  escalations: Omit<EscalationsTable, 'number'> & { number: Generated<number> }
  escalation_sessions: EscalationSession & { number: number }
  answers: AnswersTable
  accepted_files: AcceptedFile
  /** Kept by triggers: src/store/figures.ts. */
  row_counts: { counted: string; kind: string; count: number }
  api_keys: ApiKey
  api_replies: ApiReplyRow
  audit: Omit<AuditEntry, 'id'> & { id: Generated<number>; entry: number | null }
  tasks: Task
  task_edges: { task_id: string; blocker_id: string }
  gates: GatesTable
  quota_accounts: QuotaAccountsTable
  quota_windows: QuotaWindow & { account: string }
  quota_history: QuotaWindow & { account: string }
  spending: SpendingRow
  purpose_spending: PurposeRow
  runs: RunsTable
  attempts: AttemptRow & { [Column in keyof JournalColumns]: Generated<JournalColumns[Column]> }
  schedules: SchedulesTable
  features: FeaturesTable
  worktrees: WorktreeRow
  evidence: EvidenceTable
  gate_results: GateResultsTable
  merges: Omit<Merge, 'id'> & { id: Generated<number> }
  outbox: Omit<OutboxRow, 'id'> & { id: Generated<number> }
  webhook_deliveries: Omit<WebhookDelivery, 'id'> & { id: Generated<number> }
  observed_sessions: ObservedSession
  /** Of what hooks reported, so that the same is stored once. */
  captured_ids: { id: string; at: number }
  observed_usage: { vendor: string; at: number; tokens: number }
  /** How far each reader has read the events. */
  cursors: { name: string; event_id: number }
  /** Subjects whose events may be deleted; filled only inside a transaction that prunes. */
  event_pruning: { subject: string }
}

/** The total spending of one task, session, day or project. */
export type SpendingRow = Amounts & { scope: BudgetScope; key: string; updated_at: number }

/** What of a row of spending went to one purpose other than work. */
export type PurposeRow = PurposeAmounts & { scope: BudgetScope; key: string; purpose: Purpose }

/** A notice that one channel sends or has sent. */
export interface OutboxRow {
  id: number
  channel: string
  kind: string
  /** A channel sends a notice with the same key once. */
  dedup_key: string
  body: StoredJson
  /** `waiting`: not sent yet. `told`: sent, and a reminder may follow. `failed`: given up. */
  state: 'waiting' | 'told' | 'done' | 'failed'
  tries: number
  reminders: number
  /** When the notice is due next. */
  next_at: number
  created_at: number
  /** Why the last attempt to send it failed. */
  problem: string | null
}

export interface QuotaAccountsTable {
  account: string
  label: string
  /** Where the agent of the account keeps its files. */
  place: StoredJson | null
  updated_at: number
}

export interface EventsTable {
  id: Generated<number>
  time: number
  actor: string
  schema_version: number
  subject: string
  kind: string
  body: StoredJson
}

export type EventRow = Selectable<EventsTable>

export type EscalationsTable = Omit<Escalation, 'input' | 'reasons' | 'context' | 'answer'> & {
  input: StoredJson
  reasons: StoredJson
  context: StoredJson
  answer: StoredJson | null
}

/** A session that waits for an answer, and the call that gets the answer. */
export interface EscalationSession {
  session_id: string
  call_id: string
}

export interface AnswersTable extends Omit<RememberedAnswer, 'verdict' | 'answer' | 'lasting'> {
  verdict: 'allow' | 'deny' | null
  answer: StoredJson | null
  lasting: number
}

export type GatesTable = Omit<AccountGate, 'held'> & { held: number; updated_at: number }

export type SessionsTable = AsStored<SessionRow, 'options' | 'plan' | 'parked'>

/**
 * The request of `pcc start`, without the caller's environment, which is never stored, and without secrets of the settings.
 * The tasks have rows of their own.
 */
export type SessionOptions = Omit<StartSession, 'env' | 'tasks'> & {
  /** The brain that the session was started with, for display. */
  mind?: { brain: string; threshold: number } | undefined
  /** The agent that was chosen when the session started. */
  chosen?: AgentChoice | undefined
  /** The agents that worked on the session before, if it was handed over. */
  handed?: HandOver | undefined
  /** The run that started the session, and which attempt of that run it is. */
  run?: RunPosition | undefined
  /** The feature that the session plans. */
  feature?: FeaturePosition | undefined
  /** The worktree in which the agent works, if that is not the project itself. */
  place?: Worktree | undefined
  /** Why the agent of a run works in the project itself. */
  in_place?: string | undefined
  /** The git tree of the project when the session began, if the agent works in the project itself. */
  began?: string | undefined
  /** Completion: how far the finished work has come, verified or merged. The name is stored. */
  landing?: CompletionProgress | undefined
  /** The decision that the session waits for: a request was refused that its task cannot do without. Gone when the session goes on. */
  refused?: number | undefined
}

/** A session as the rest of the program sees it: the row with its JSON parsed. */
export interface SessionRow {
  id: string
  name: string
  project: string
  task: string
  agent: string
  model: string | null
  vendor_id: string | null
  options: SessionOptions
  /** The boot id of the daemon that runs the session. */
  owner: string | null
  state: SessionState
  status_reason: string | null
  ended_as: EndedAs | null
  created_at: number
  started_at: number | null
  ended_at: number | null
  resumes_at: number | null
  activity: string | null
  plan: PlanItem[]
  input_tokens: number
  output_tokens: number
  context_tokens: number
  context_window: number
  cost_usd: number
  turns: number
  tools_auto: number
  tools_human: number
  tools_denied: number
  questions_auto: number
  questions_human: number
  /** A question or call that nobody could answer; it waits until the session is resumed. */
  parked: Parked | null
  account: string | null
  /** The process marker of the agent, and its process by pid and start time. */
  marker: string | null
  agent_pid: number | null
  agent_started: string | null
  /** The task of its queue that the session works on or will resume. */
  task_id: string | null
  /** Consecutive failures that may pass by themselves. */
  retries: number
  /** How often in a row the session was resumed after its daemon died, without a word from the model in between. */
  recoveries: number
  /** What a person asked for while it runs. It is stored because the daemon may die before it is done. */
  intent: 'stop' | 'pause' | null
  /** Of several waiting sessions, the one with the highest priority goes first. */
  priority: number
  /** When a person said that the session must not resume by itself. */
  held_at: number | null
}

export type Parked = ParkedQuestion | ParkedPermission

/** A parked dangerous call. An answer applies only to the call with this digest, as long as these files are the same. */
export type ParkedPermission = EventBody<'permission.parked'> & {
  digest: string
  /** The files that were read to judge the call, each with a hash. */
  files?: Readonly<Record<string, string>>
  taken?: true
}

/** `taken`: the agent received an answer to the call but went no further, or gave the call up; the next answer is sent to it as a message. */
export type ParkedQuestion = EventBody<'question.parked'> & { taken?: true }

/** The required columns of a new session; the others have defaults. */
export type NewSessionRow = Pick<SessionRow, 'id' | 'name' | 'project' | 'task' | 'agent'> & Partial<SessionRow>

/** A run as the rest of the program sees it. */
export interface RunRow {
  id: string
  project: string
  target: RunTarget
  options: RunOptions
  state: RunState
  outcome: RunOutcome | null
  reason: string | null
  /** What the agent said when it gave up the whole run. */
  gave_up: string | null
  /** Whether a person wants the run to end after the current attempts. */
  stopping: boolean
  /** How many attempts the run has started. */
  iterations: number
  created_at: number
  ended_at: number | null
}

export type RunsTable = AsStored<Omit<RunRow, 'stopping'>, 'target' | 'options'> & { stopping: number }

/** One attempt at a task within a run. It is open while it has no outcome. */
export interface AttemptRow extends Omit<PastAttempt, 'failure' | 'troubled' | 'evidence'> {
  run_id: string
  iteration: number
  session_id: string
  failure: FailureKind | null
  cost_usd: number
  started_at: number
  ended_at: number | null
  /** How often its work was verified. */
  rounds: number
}

/** A run that starts at a time, once or repeatedly. */
export interface ScheduleRow extends ScheduleView {
  options: RunOptions
  /** A cron pattern with five fields; null for a single time. */
  pattern: string | null
}

export type SchedulesTable = AsStored<ScheduleRow, 'target' | 'options'>

/** The columns of an attempt that only the journal uses. */
export interface JournalColumns {
  title: string
  feature: string | null
  notes: string | null
  /** A list of paths. */
  files: StoredJson
  files_more: number
}

/** The reply to a request of the API with an `Idempotency-Key`; `status` and `reply` are null until it is done. */
export interface ApiReplyRow {
  caller: string
  key: string
  /** The route and its parameters. */
  route: string
  /** Of the body. */
  hash: string
  status: number | null
  reply: StoredJson | null
  created_at: number
}

/** A feature as the rest of the program sees it. Its spec and plan are files of the project. */
export interface FeatureRow {
  id: string
  project: string
  name: string
  phase: FeaturePhase
  until: FeatureUntil
  /** The session that works on the phase; null until somebody continues the feature. */
  session_id: string | null
  /** What the person wrote down instead of an interview. */
  source: string | null
  options: FeatureOptions
  /** Tasks that the agent has added so far; they all become real when the agent is done. */
  draft: ImportedTask[]
  problem: string | null
  created_at: number
  updated_at: number
}

export type FeaturesTable = AsStored<FeatureRow, 'options' | 'draft'>

export type EvidenceTable = Omit<NewEvidence, 'findings' | 'tests' | 'cached'> & {
  id: Generated<number>
  findings: StoredJson
  tests: StoredJson | null
  cached: number
}

/** The result of a command on a git tree, under a key of everything that it depends on. */
export interface GateResult {
  key: string
  tree: string
  command: string
  exit: number
  duration_ms: number
  output: string
  tests: TestResult[] | null
  created_at: number
}

export type GateResultsTable = AsStored<GateResult, 'tests'>

/** Identifies one verification of a task. */
export type EvidenceRound = Pick<Evidence, 'task_id' | 'attempt' | 'round'>
