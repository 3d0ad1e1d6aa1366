import type { Generated, Selectable } from 'kysely'
import type { AgentChoice, HandOver } from '../domain/agent-choice.ts'
import type { EndedAs, SessionState, StartSession } from '../domain/api.ts'
import type { PastAttempt, RunOutcome } from '../domain/attempt.ts'
import type { Amounts, BudgetScope } from '../domain/budget.ts'
import type { Escalation } from '../domain/escalation.ts'
import type { EventBody } from '../domain/event.ts'
import type { CompletionProgress, Evidence, NewEvidence, TestResult } from '../domain/evidence.ts'
import type { FeatureOptions, FeaturePosition, FeatureUntil } from '../domain/feature.ts'
import type { FeaturePhase } from '../domain/feature-phase.ts'
import type { AccountGate } from '../domain/limit.ts'
import type { Merge } from '../domain/merge.ts'
import type { QuotaWindow } from '../domain/quota.ts'
import type { RememberedAnswer } from '../domain/remembered-answer.ts'
import type { RunOptions, RunPosition, RunState, RunTarget } from '../domain/run.ts'
import type { ScheduleView } from '../domain/schedule.ts'
import type { FailureKind, PlanItem } from '../domain/session.ts'
import type { Task } from '../domain/task.ts'
import type { ImportedTask } from '../domain/task-requests.ts'
import type { Worktree, WorktreeRow } from '../domain/worktree.ts'

/** The tables as the database holds them: JSON is text here and is parsed at the store's edge. Times are milliseconds. */
export interface Tables {
  events: EventsTable
  sessions: SessionsTable
  escalations: Omit<EscalationsTable, 'number'> & { number: Generated<number> }
  escalation_sessions: EscalationSession & { number: number }
  answers: AnswersTable
  tasks: Task
  task_edges: { task_id: string; blocker_id: string }
  gates: GatesTable
  quota_accounts: QuotaAccountsTable
  quota_windows: QuotaWindow & { account: string }
  quota_history: QuotaWindow & { account: string }
  spending: SpendingRow
  runs: RunsTable
  attempts: AttemptRow & { [Column in keyof JournalColumns]: Generated<JournalColumns[Column]> }
  schedules: SchedulesTable
  features: FeaturesTable
  worktrees: WorktreeRow
  evidence: EvidenceTable
  gate_results: GateResultsTable
  merges: Omit<Merge, 'id'> & { id: Generated<number> }
  outbox: Omit<OutboxRow, 'id'> & { id: Generated<number> }
  /** How far the events were read for some purpose. */
  cursors: { name: string; event_id: number }
  /** Subjects whose events may be deleted: filled only inside of a transaction that does so. */
  event_pruning: { subject: string }
}

/** What was spent in one task, session, day or project, in all. */
export type SpendingRow = Amounts & { scope: BudgetScope; key: string; updated_at: number }

/** What one channel is to say, or has said. */
export interface OutboxRow {
  id: number
  channel: string
  kind: string
  /** One channel says it once. */
  dedup_key: string
  /** JSON. */
  body: string
  /** `waiting` to be said; `told`, and a reminder may come; `done`; `failed`: given up. */
  state: 'waiting' | 'told' | 'done' | 'failed'
  tries: number
  reminders: number
  /** When it is looked at next. */
  next_at: number
  created_at: number
  /** Why it could not be said the last time. */
  problem: string | null
}

export interface QuotaAccountsTable {
  account: string
  label: string
  /** JSON: where the agent of the account keeps its files. */
  place: string | null
  updated_at: number
}

export interface EventsTable {
  id: Generated<number>
  time: number
  actor: string
  schema_version: number
  subject: string
  kind: string
  body: string
}

export type EventRow = Selectable<EventsTable>

export type EscalationsTable = Omit<Escalation, 'input' | 'reasons' | 'context' | 'answer'> & {
  input: string
  reasons: string
  context: string
  answer: string | null
}

/** One of those that wait for the same answer, and the call that gets it. */
export interface EscalationSession {
  session_id: string
  call_id: string
}

export interface AnswersTable extends Omit<RememberedAnswer, 'verdict' | 'answer' | 'lasting'> {
  verdict: 'allow' | 'deny' | null
  answer: string | null
  lasting: number
}

export type GatesTable = Omit<AccountGate, 'held'> & { held: number; updated_at: number }

export type SessionsTable = Omit<SessionRow, JsonColumn> & { options: string; plan: string; parked: string | null }

export type JsonColumn = 'options' | 'plan' | 'parked'

/**
 * What `pcc start` asked for, without the caller's environment: that is never stored, and of the settings no secret is. Its
 * tasks have rows of their own.
 */
export type SessionOptions = Omit<StartSession, 'env' | 'tasks'> & {
  /** Who formed opinions for it when it was started, for whoever looks at it. */
  mind?: { brain: string; threshold: number } | undefined
  /** Its agent, as it was chosen when it was started. */
  chosen?: AgentChoice | undefined
  /** Who worked on it before its agent, where it has changed hands. */
  handed?: HandOver | undefined
  /** The run that started it, and which of its attempts it is. */
  run?: RunPosition | undefined
  /** The feature that it works on, where it is to find out what is to be done. */
  feature?: FeaturePosition | undefined
  /** The worktree in which its agent works, where that is not the project itself. */
  place?: Worktree | undefined
  /** Why the agent of a run works in the project itself. */
  in_place?: string | undefined
  /** What git knew the project by then, where its agent works in the project itself. */
  began?: string | undefined
  /** How far its work is on its way to done. */
  landing?: CompletionProgress | undefined
}

/** A session as the rest of the program sees it: its row with the JSON parsed. */
export interface SessionRow {
  id: string
  name: string
  project: string
  task: string
  agent: string
  model: string | null
  vendor_id: string | null
  options: SessionOptions
  /** Boot id of the daemon that runs it. */
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
  /** What nobody could answer; it waits for the session to be resumed. */
  parked: Parked | null
  account: string | null
  /** Process marker of its agent, and the process itself by pid and start time. */
  marker: string | null
  agent_pid: number | null
  agent_started: string | null
  /** The task of its queue that it works on, or will go on with. */
  task_id: string | null
  /** Failures in a row that may pass by themselves. */
  retries: number
  /** How often in a row it was taken up after its daemon had died, without a word from the model since. */
  recoveries: number
  /** What a person has asked of it while it runs: it holds although the daemon may die before it is done. */
  intent: 'stop' | 'pause' | null
  /** Higher comes first where several wait. */
  priority: number
  /** A person said that it is not to go on by itself. */
  held_at: number | null
}

export type Parked = ParkedQuestion | ParkedPermission

/** A dangerous call. An answer is for the call of which this is the digest, or for none. */
export type ParkedPermission = EventBody<'permission.parked'> & { digest: string; taken?: true }

/** `taken`: the agent took an answer to the call but went no further, or gave the call up: the next is told to it in words. */
export type ParkedQuestion = EventBody<'question.parked'> & { taken?: true }

/** What a new session must say; everything else has a sensible start. */
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
  /** What the agent said when it gave the whole up. */
  gave_up: string | null
  /** A person wants it to end after what is at work. */
  stopping: boolean
  /** Attempts that it has begun. */
  iterations: number
  created_at: number
  ended_at: number | null
}

export type RunsTable = Omit<RunRow, 'target' | 'options' | 'stopping'> & {
  target: string
  options: string
  stopping: number
}

/** One try at a task within a run. Open while it has no outcome. */
export interface AttemptRow extends Omit<PastAttempt, 'failure' | 'troubled' | 'evidence'> {
  run_id: string
  iteration: number
  session_id: string
  failure: FailureKind | null
  cost_usd: number
  started_at: number
  ended_at: number | null
  /** How often what it called done was verified. */
  rounds: number
}

/** A run that is to begin at a time, once or again and again. */
export interface ScheduleRow extends ScheduleView {
  options: RunOptions
  /** Cron, five fields; null for a single time. */
  pattern: string | null
}

export type SchedulesTable = Omit<ScheduleRow, 'target' | 'options'> & { target: string; options: string }

/** What the row of an attempt keeps for the journal alone. */
export interface JournalColumns {
  title: string
  feature: string | null
  notes: string | null
  /** JSON: a list of paths. */
  files: string
  files_more: number
}

/** A feature as the rest of the program sees it. Its spec and its plan are files of the project. */
export interface FeatureRow {
  id: string
  project: string
  name: string
  phase: FeaturePhase
  until: FeatureUntil
  /** Who is at the phase; nobody before somebody says that it goes on. */
  session_id: string | null
  /** What the person had written down, in place of an interview. */
  source: string | null
  options: FeatureOptions
  /** Tasks that the agent has added so far: they become real ones together, when it is done. */
  draft: ImportedTask[]
  problem: string | null
  created_at: number
  updated_at: number
}

export type FeaturesTable = Omit<FeatureRow, 'options' | 'draft'> & { options: string; draft: string }

export type EvidenceTable = Omit<NewEvidence, 'findings' | 'tests' | 'cached'> & {
  id: Generated<number>
  /** JSON. */
  findings: string
  tests: string | null
  cached: number
}

/** What a command came to on a tree, under a key that holds everything it depends on. */
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

export type GateResultsTable = Omit<GateResult, 'tests'> & { tests: string | null }

/** Which verification of a task is meant. */
export type EvidenceRound = Pick<Evidence, 'task_id' | 'attempt' | 'round'>
