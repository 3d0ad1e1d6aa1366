import type { AccountAdmission } from '../../agents/limits/account-gates.ts'
import type { ResumeConsent } from '../../agents/limits/resume-times.ts'
import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Assessment } from '../../domain/assessment.ts'
import type { Brain, Requirements } from '../../domain/brain.ts'
import type { Budgets, BudgetUse, PurposeSplit } from '../../domain/budget.ts'
import type { CheckpointReason } from '../../domain/checkpoint.ts'
import type { EscalationAnswer, NewEscalation } from '../../domain/escalation.ts'
import type { EventBody, EventKind, Guard, NewEvent } from '../../domain/event.ts'
import type { AccountGate, Limit } from '../../domain/limit.ts'
import type { QuotaLevel, QuotaThresholds, QuotaWindow } from '../../domain/quota.ts'
import type { Driver, FailureKind, OpenSession, Request, Session, SessionEvent, Verdict } from '../../domain/session.ts'
import type { Task } from '../../domain/task.ts'
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
import type { CodeSearch } from '../knowledge/code-search.ts'
import type { StartBarrier } from '../limits/start-barrier.ts'
import type { SupervisorMemory } from '../memory/supervisor-memory.ts'
import type { FailoverSettings } from './settings.ts'
import type { GivenAnswer } from './tool-call.ts'

/** One live session: its row as last written, and the state that exists only while the session is live. */
export interface LiveSession {
  readonly id: string
  /** `record` keeps this in step with the database. */
  row: SessionRow
  readonly log: Log
  readonly settings: LiveSettings
  readonly control: LiveControl
  readonly meters: LiveMeters
  readonly agent: LiveAgent
}

/** What the session was prepared with. `renew` replaces these when the session had to wait for its place. */
export interface LiveSettings {
  driver: Driver
  open: Omit<OpenSession, 'asks'>
  policy: SessionPolicy
  /** Whether the agent may work with nobody watching. */
  mayRunUnattended: boolean
  /** Refuses calls that need trust in the project, before the policy is asked. */
  guard(request: Request): Promise<Verdict | undefined>
  /** Set when the session waited in line: brings the settings up to date just before the agent is opened. */
  renew: (() => Promise<void>) | undefined
  /** Values that must not be stored. */
  readonly secrets: readonly string[]
  brainSettings: SessionBrain
  /** Which agents take over from one another, and when. */
  failover?: FailoverSettings | undefined
  /** What the person wrote down about the project. */
  requirements: Requirements | undefined
  /** What a person agreed to: whether, and in which hours, the session goes on by itself. */
  consent: ResumeConsent
  /** When the account's allowance counts as nearly used up, and what is done then. */
  quota: { thresholds: QuotaThresholds; onCritical: 'finish' | 'pause' }
  /** The most that may be spent. */
  budgets: Budgets
  /** Reads the budgets from the settings again: a person may have raised one while the session worked. */
  budgetsNow(): Promise<Budgets>
  /** Whether the code of the project is indexed. */
  searchesCode: boolean
  checkpointEveryMs: number
  /** Most tasks that one process of the agent serves, one after the other. */
  tasksPerProcess: number
  /** How long to wait before each retry after a failure that may pass. */
  retryMs: readonly number[]
}

/** Who wants the session to stop, and how far it has come. */
export interface LiveControl {
  /** Resolves when the agent is open, or will never be. */
  readonly opened: PromiseWithResolvers<void>
  /** Resolves when the session has a slot, or is known to wait for one. */
  readonly admitted: PromiseWithResolvers<void>
  /** Why the session is being stopped, once somebody asked for that. */
  stopping: string | undefined
  /** The session is stopped only because its daemon leaves; it goes on under the next daemon. */
  cutOff: boolean
  /** Who asked the session to stop after the tool in flight: a person, a closed account, or a guard that tripped. */
  pausing: 'person' | 'gate' | 'guard' | undefined
  /** Why the guard tripped, where `pausing` is `guard`. */
  tripped: GuardTrip | undefined
  /** True once the last turn has ended: nothing can be added any more. */
  over: boolean
}

/** What is counted and timed while the session is live. */
export interface LiveMeters {
  /** When this life of the session began. */
  startedAt: number
  checkpointedAt: number
  /** Usage before the agent was opened: tokens and cost of earlier lives of the session; rounds also of earlier turns. */
  earlierUsage: Pick<SessionRow, 'input_tokens' | 'output_tokens' | 'cost_usd' | 'turns'>
  /** What this life of the session has spent. */
  readonly meter: SpendingMeter
  /** Divides it by purpose. */
  readonly purposes: PurposeSplit
  /** The model has not answered since a limit. */
  afterLimit: boolean
  /** Keeps the session from running away. */
  readonly guards: SessionGuards
  /** The last reported level of each of the vendor's windows. */
  readonly warnedLevels: Map<string, QuotaLevel>
  /** Calls of our own tools that nothing else bounds, by tool. */
  readonly toolCalls: Map<string, number>
  /** How many questions at the end of a turn were answered for the task at work. */
  proseAnswers: number
}

/** The agent's process and conversation. */
export interface LiveAgent {
  session: Session | undefined
  /** The process is kept for the next session of the run: it is not this session's any more. */
  isKept: boolean
  /** Some process of the agent is still there after the end: the marker stays, and nothing new is started on its conversation. */
  hasSurvivors: boolean
  /** An event of the agent is being stored and answered; later events wait. */
  isHandlingEvent: boolean
  /** Tool calls that are stored already, by call id; later events about a call need its name and target. */
  readonly calls: Map<string, { tool: string; target: string }>
  /** Functions to call once a call is stored, by call id. */
  readonly callWaiters: Map<string, () => void>
  /** Requests and questions that nobody could answer, by call id. */
  readonly parking: Map<string, ParkedAsk>
  /** The answer with which a parked session is started again; the call it belongs to consumes it. */
  answer: GivenAnswer | undefined
  /** The parked question whose answer was delivered, until the agent goes on from it: a login may fail in between. */
  answeredQuestion: ParkedQuestion | undefined
  /**
   * The attempt at the task that the session holds. Once the attempt is taken away, nothing the session says of the task
   * counts.
   */
  attempt: number | undefined
  /** The model has answered since the agent was opened. */
  answered: boolean
  /** The agent waits to call the vendor again after a failure. */
  isRetrying: boolean
  /** The conversation is being shortened, or was, because it had become too long for the model. */
  compaction: 'running' | 'done' | undefined
}

/** Why a guard stops a session. */
export interface GuardTrip {
  guard: Guard
  /** What happened, for a person. */
  reason: string
  /** The command that helps. */
  next: string
  /** When the session goes on by itself; without it a person has to resume it. */
  resumesAt?: number | undefined
  /** The budget that is spent. */
  use?: BudgetUse | undefined
}

/** The brain of a session, and how far its opinions are followed. */
export interface SessionBrain {
  brain: Brain
  /** The least confidence at which an answer needs no person. */
  threshold: number
  autoAnswer: boolean
  /** How far earlier answers are trusted. */
  memory: MemorySettings
  /** When an escalation is settled without a person, and how. */
  deadlines: DeadlineSettings
}

/** A call that waits for a person when the turn has ended, and the escalation that tells the person. */
export interface ParkedAsk {
  parked: Parked
  /** Why the session waits. */
  reason: string
  escalation: NewEscalation
}

/** What every part of the supervisor needs. */
export interface SessionDeps {
  store: Store
  terminals: AttachedTerminals
  clock: Clock
  policy: Policy
  tasks: Tasks
  accounts: AccountLimits
  /** Watches the processes of every agent. */
  watch: AgentWatch
  /** The directory of all checkpoints. */
  checkpoints: string
  /** Held while notes of a project are read and written. */
  notesLock: string
  /** Whether agents may be started now. */
  starts: StartBarrier
  /** Searches the code of projects. */
  code: CodeSearch
  /** What was learned before. */
  memory: SupervisorMemory
  /** Keeps the process of a session that ends for the next one of its run; false if it has to be closed. */
  keepProcess(live: LiveSession, session: Session, ending: LiveSessionEnding): Promise<boolean>
  /** Ends the processes that wait in a folder for the next task, because a session goes on there in a process of its own. */
  endKept(folder: string): Promise<void>
  /** The first prompt for a task: its text, or the whole brief in a run. */
  briefOf(task: Pick<Task, 'id' | 'description'>, row: SessionRow): Promise<string>
}

/** One live session and what its functions need. */
export interface SessionContext {
  live: LiveSession
  deps: SessionDeps
}

/** Watches the processes of agents (`guards/watch.ts`). */
export interface AgentWatch {
  watch(context: SessionContext): Disposable
}

/** The account of a session, and from when on its allowance counts as used up. */
export interface QuotaHolder {
  row: Pick<SessionRow, 'account'>
  settings: Pick<LiveSession['settings'], 'quota'>
}

/** How full an account is; `fullest` is the window that the level comes from. */
export interface AccountLevel {
  level: QuotaLevel
  resetsAt: number | undefined
  fullest: QuotaWindow | undefined
}

/** What the sessions of one account share (`limits/accounts.ts`). */
export interface AccountLimits {
  rememberAgent(account: string, agent: { agent: string; env: Record<string, string> }, tx: Tx): Promise<void>
  admits(live: Pick<LiveSession, 'row'>): Promise<AccountAdmission>
  closeForLimit(live: LiveSession, limit: Limit): Promise<AccountGate | undefined>
  answered(live: LiveSession): Promise<void>
  recordLimit(event: Extract<SessionEvent, { kind: 'limit' }>, live: LiveSession): Promise<void>
  level(live: QuotaHolder): Promise<AccountLevel>
  allowed(live: LiveSession, max: number): number
  resumesAt(live: LiveSession, gate: AccountGate): Promise<{ at: number | null; inHours: boolean }>
}

/** Classifies requests, and loads the rules that the person and the project have written. */
export interface Policy {
  classify(question: ClassifyRequest): Assessment | Promise<Assessment>
  loadRules(options: LoadRulesOptions): Promise<LoadedRules>
}

/** The result of one thing that happened: events to store and changes to the row, in one transaction. */
export interface SessionUpdate {
  events: NewEvent[]
  patch: Partial<SessionRow>
  /** A new escalation for a person. */
  escalation?: NewEscalation | undefined
  /** An escalation that was asked at a terminal, and its answer. */
  settle?: { number: number; answer: EscalationAnswer } | undefined
  /** Number of an escalation whose answer did not reach the agent. */
  reopen?: number | undefined
  /** Why the open escalations of this session need no answer any more. */
  withdraw?: string | undefined
  /** What becomes of the task at work. */
  task?: Move | undefined
}

/** How a session ends; `settle` applies it. */
export interface LiveSessionEnding {
  as: NonNullable<SessionRow['ended_as']>
  reason: string
  failure?: FailureKind
  /** A person holds the account: the session goes on only after they release it, whatever `resumesAt` says. */
  held?: boolean
  /** It waits because its account is closed, so it goes on at once if the account is open by the time it is settled. */
  waitsForGate?: true
  resumesAt?: number | undefined
  parked?: SessionRow['parked']
  /** The escalation for the parked call. */
  escalation?: NewEscalation
  /** Number of an escalation whose answer did not reach the agent. */
  reopen?: number | undefined
  /** Events that are stored together with the ending. */
  events?: NewEvent[]
  /** What becomes of the task at work. */
  task?: Move | undefined
  /** Why a checkpoint is written. */
  checkpoint?: CheckpointReason | undefined
  /** How many failures in a row there were; none when absent. */
  retries?: number
  /** Other changes to the row, such as another agent that goes on. */
  patch?: Partial<SessionRow> | undefined
}

/** What applies to every request of one session: its directory, and the settings of the person and the project. */
export interface SessionPolicy {
  /** Real path of the project. */
  project: string
  home: string
  /** Set for a session that works in a worktree of its own; `project` is then the project's directory inside the worktree. */
  worktree?: WorktreeFence | undefined
  safeDirectories: readonly string[]
  blocked: readonly string[]
  /** The rules in force now: a changed file takes effect with the next request. */
  rules(): Promise<readonly PolicyRule[]>
  /** `--allowed-tools` of the person who started the session. */
  allowedTools: readonly string[]
  autoApproveLow: boolean
  threshold: number
  unattendedHigh: 'deny' | 'wait'
}

/** An event of this session; its actor is the agent by default. */
export function eventOf<Kind extends EventKind>(
  live: LiveSession,
  kind: Kind,
  body: EventBody<Kind>,
  actor = 'agent',
): NewEvent {
  return { actor, subject: live.id, kind, body } as NewEvent
}

/** `agent_id` for an event that a subagent caused. */
export function agentFields(event: { agentId?: string | undefined }): { agent_id?: string } {
  return event.agentId === undefined ? {} : { agent_id: event.agentId }
}

/**
 * Throws when another daemon has taken the session over: the owner in the row is the lease, and a daemon that lost it can
 * neither report nor settle. Runs inside the transaction that would write.
 */
export async function refuseStale({ id, row }: LiveSession, tx: Tx): Promise<void> {
  const stored = await tx.db.selectFrom('sessions').select('owner').where('id', '=', id).executeTakeFirst()
  if (stored && stored.owner !== row.owner) throw new AppError('session_taken_over', { id })
}
