import type { AccountAdmission } from '../../agents/limits/account-gates.ts'
import type { ResumeConsent } from '../../agents/limits/resume-times.ts'
import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Assessment } from '../../domain/assessment.ts'
import type { Brain, Requirements } from '../../domain/brain.ts'
import type { Budgets, BudgetUse } from '../../domain/budget.ts'
import type { CheckpointReason } from '../../domain/checkpoint.ts'
import type { EscalationAnswer, NewEscalation } from '../../domain/escalation.ts'
import type { EventBody, EventKind, Guard, NewEvent } from '../../domain/event.ts'
import type { AccountGate, Limit } from '../../domain/limit.ts'
import type { QuotaLevel, QuotaThresholds } from '../../domain/quota.ts'
import type { Driver, FailureKind, OpenSession, Request, Session, SessionEvent, Verdict } from '../../domain/session.ts'
import type { DeadlineSettings } from '../../human/escalations.ts'
import type { MemorySettings } from '../../human/precedents.ts'
import type { AttachedTerminals } from '../../human/terminals.ts'
import type { ClassifyRequest } from '../../policy/classify/classify.ts'
import type { WorktreeFence } from '../../policy/paths/fence.ts'
import type { LoadedRules, LoadRulesOptions } from '../../policy/verdict/load-rules.ts'
import type { PolicyRule } from '../../policy/verdict/rules.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { Parked, ParkedQuestion, SessionRow } from '../../store/tables.ts'
import type { SpendingMeter } from '../../tasks/budgets.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import type { Move } from '../../tasks/transition.ts'
import type { SessionGuards } from '../guards/session-guards.ts'
import type { StartBarrier } from '../limits/alarm.ts'
import type { FailoverSettings } from './settings.ts'
import type { GivenAnswer } from './tool-call.ts'

/** One live session: its row as last written, and what is known of it only while it runs. */
export interface LiveSession {
  readonly id: string
  /** Kept in step with the database by `record`. */
  row: SessionRow
  driver: Driver
  open: Omit<OpenSession, 'asks'>
  policy: SessionPolicy
  /** Whether its agent may work with nobody watching. */
  heldEnough: boolean
  /** Refuses what trust has to cover, before the policy is asked. */
  guard(request: Request): Promise<Verdict | undefined>
  /** Set when it waited in line: brings all of the above up to date, just before the agent is opened. */
  renew: (() => Promise<void>) | undefined
  readonly log: Log
  /** Tool calls that are stored already, by call id: name and target for what comes later about them. */
  readonly calls: Map<string, { tool: string; target: string }>
  /** How often tools of ours were called that nothing else bounds. */
  readonly toolCalls: Map<string, number>
  /** Something that its agent told is being stored and answered; what it told since then waits. */
  hearing: boolean
  /** Those who wait for a call to be stored. */
  readonly callWaiters: Map<string, () => void>
  /** What nobody could answer, by call id. */
  readonly parking: Map<string, ParkedAsk>
  /** The answer with which a parked session is started again; taken by the call it belongs to. */
  answer: GivenAnswer | undefined
  /** The parked question whose answer was taken, until the agent has gone on from it: a login may fail in between. */
  taken: ParkedQuestion | undefined
  /** What the session had spent before its agent was opened, in earlier lives of it; rounds also in earlier turns. */
  before: Pick<SessionRow, 'input_tokens' | 'output_tokens' | 'cost_usd' | 'turns'>
  /** Values that must not be stored. */
  readonly secrets: readonly string[]
  /** Who forms opinions for it, and how far they are followed. */
  mind: SessionBrain
  /** Which agents take over from one another, and when. */
  failover?: FailoverSettings | undefined
  /** What the person wrote down about the project. */
  requirements: Requirements | undefined
  /** How often a question at the end of a turn was answered, for the task at work. */
  proseAnswers: number
  /** The attempt at its task that it holds: once that is taken away, nothing it says of the task counts. */
  attempt: number | undefined
  /** What a person agreed to: whether, and in which hours, it goes on by itself. */
  consent: ResumeConsent
  /** From when on the account's allowance counts as nearly used up, and what is done then. */
  quota: { thresholds: QuotaThresholds; onCritical: 'finish' | 'pause' }
  /** The most that may be spent, and what this life of the session has spent. */
  budgets: Budgets
  /** The bounds as the settings have them by now: a person may have raised one while it worked. */
  budgetsNow(): Promise<Budgets>
  readonly meter: SpendingMeter
  /** What keeps it from running away. */
  readonly guards: SessionGuards
  /** The level of each of the vendor's windows, as it was last told. */
  readonly warned: Map<string, QuotaLevel>
  /** The model has answered since the agent was opened. */
  answered: boolean
  /** The agent waits to call the vendor once more after a failure. */
  trying: boolean
  /** The conversation is being shortened, or was, because it had become too long for the model. */
  compaction: 'running' | 'done' | undefined
  checkpointedAt: number
  checkpointEveryMs: number
  /** When this life of the session began. */
  begunAt: number
  /** How long each try after a failure that may pass waits. */
  retryMs: readonly number[]
  session: Session | undefined
  /** Something of its agent is still there after the end: the marker stays, and nothing is started on its conversation. */
  withstood: boolean
  /** Resolves when the agent is open, or will never be. */
  readonly opened: PromiseWithResolvers<void>
  /** Resolves when it has a place or is known to wait for one. */
  readonly placed: PromiseWithResolvers<void>
  /** Why it is being stopped, once somebody asked for that. */
  stopping: string | undefined
  /** It is stopped only because its daemon leaves, and goes on with the next one. */
  cutOff: boolean
  /** Who asked it to stop after the tool in flight: a person, the account that was shut under it, or a guard that tripped. */
  pausing: 'person' | 'gate' | 'guard' | undefined
  /** Why, where it was a guard. */
  tripped: GuardTrip | undefined
  /** True from the end of the turn on: nothing can be added any more. */
  over: boolean
}

/** Why a session is stopped without anybody having asked for it. */
export interface GuardTrip {
  guard: Guard
  /** What happened, for a person. */
  reason: string
  /** The command that helps. */
  next: string
  /** When it goes on by itself; without it a person makes it. */
  resumesAt?: number | undefined
  /** The budget that is spent. */
  use?: BudgetUse | undefined
}

/** Who forms opinions, and how far they are followed. */
export interface SessionBrain {
  brain: Brain
  /** Least confidence for an answer without a person. */
  threshold: number
  autoAnswer: boolean
  /** How far earlier answers are trusted. */
  memory: MemorySettings
  /** When what waits for a person is settled without one, and how. */
  deadlines: DeadlineSettings
}

/** What waits for a person when the turn has ended, and the row by which they hear of it. */
export interface ParkedAsk {
  parked: Parked
  /** Why the session waits. */
  reason: string
  escalation: NewEscalation
}

/** What every part of the supervisor works with. */
export interface SessionDeps {
  store: Store
  terminals: AttachedTerminals
  clock: Clock
  policy: Policy
  tasks: Tasks
  accounts: AccountLimits
  /** Looks at the processes of every agent. */
  watch: AgentWatch
  /** The directory of all checkpoints. */
  checkpoints: string
  /** Held while notes of a project are read and written. */
  notesLock: string
  /** Whether agents may be started now. */
  starts: StartBarrier
}

/** One session and everything that is done with it. */
export interface SessionContext {
  live: LiveSession
  deps: SessionDeps
}

/** Looks at the processes of agents (guards/watch/watch.ts). */
export interface AgentWatch {
  watch(context: SessionContext): Disposable
}

/** What the sessions of one account share (waits/accounts.ts). */
export interface AccountLimits {
  met(account: string, agent: { agent: string; env: Record<string, string> }, tx: Tx): Promise<void>
  admits(live: Pick<LiveSession, 'row'>): Promise<AccountAdmission>
  shut(live: LiveSession, limit: Limit): Promise<AccountGate | undefined>
  answered(live: LiveSession): Promise<void>
  told(event: Extract<SessionEvent, { kind: 'limit' }>, live: LiveSession): Promise<void>
  level(live: LiveSession): Promise<{ level: QuotaLevel; easesAt: number | undefined }>
  allowed(live: LiveSession, max: number): number
  resumesAt(live: LiveSession, gate: AccountGate): Promise<number | null>
}

/** Finds out what a request is, and which rules the person and the project have written. */
export interface Policy {
  classify(question: ClassifyRequest): Assessment | Promise<Assessment>
  loadRules(options: LoadRulesOptions): Promise<LoadedRules>
}

/** What one thing that happened comes to: events to store and changes to the row, in one transaction. */
export interface SessionUpdate {
  events: NewEvent[]
  patch: Partial<SessionRow>
  /** What a person is to hear of. */
  escalation?: NewEscalation | undefined
  /** A decision that was asked at a terminal, and what was said to it. */
  settle?: { number: number; said: EscalationAnswer } | undefined
  /** Number of a decision whose answer reached nobody. */
  reopen?: number | undefined
  /** Why nobody needs an answer to what is open of this session any more. */
  withdraw?: string | undefined
  /** What becomes of the task at work. */
  task?: Move | undefined
}

/** How a session ends; `settle` applies it. */
export interface LiveSessionEnding {
  as: NonNullable<SessionRow['ended_as']>
  reason: string
  failure?: FailureKind
  /** A person holds the account: it goes on only after they let go, whatever the time says. */
  held?: boolean
  resumesAt?: number | undefined
  parked?: SessionRow['parked']
  /** The row by which a person hears of what is parked. */
  escalation?: NewEscalation
  /** Number of a decision whose answer reached nobody. */
  reopen?: number | undefined
  /** Events that belong to the ending and are stored with it. */
  events?: NewEvent[]
  /** What becomes of the task at work. */
  task?: Move | undefined
  /** Why a checkpoint is written. */
  checkpoint?: CheckpointReason | undefined
  /** Failures in a row so far; without it, none. */
  retries?: number
  /** What else of the row changes with it: another agent goes on. */
  patch?: Partial<SessionRow> | undefined
}

/** What holds for every request of one session: its place, and what the settings and the person said. */
export interface SessionPolicy {
  /** Real path of the project. */
  project: string
  home: string
  /** Of a session that works in a worktree of its own; `project` may then lie elsewhere. */
  worktree?: WorktreeFence | undefined
  safeDirectories: readonly string[]
  blocked: readonly string[]
  /** The rules in force now: a file that changes counts from the next request on. */
  rules(): Promise<readonly PolicyRule[]>
  /** `--allowed-tools` of who started the session. */
  allowedTools: readonly string[]
  autoApproveLow: boolean
  threshold: number
  unattendedHigh: 'deny' | 'wait'
}

/** An event of this session, caused by its agent unless said otherwise. */
export function eventOf<Kind extends EventKind>(
  live: LiveSession,
  kind: Kind,
  body: EventBody<Kind>,
  actor = 'agent',
): NewEvent {
  return { actor, subject: live.id, kind, body } as NewEvent
}

/** `agent_id` where a subagent did it. */
export function agentFields(event: { agentId?: string | undefined }): { agent_id?: string } {
  return event.agentId === undefined ? {} : { agent_id: event.agentId }
}

/**
 * Refuses what a daemon still says of a session that another one has taken up since: the owner in the row is the lease, and
 * whoever lost it can neither report nor settle. Part of the transaction that would write it.
 */
export async function refuseStale({ id, row }: LiveSession, tx: Tx): Promise<void> {
  const held = await tx.db.selectFrom('sessions').select('owner').where('id', '=', id).executeTakeFirst()
  if (held && held.owner !== row.owner) throw new AppError('session_taken_over', { id })
}
