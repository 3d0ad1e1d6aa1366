import type { Amounts } from '../domain/budget.ts'
import type { Escalation, EscalationAnswer, EscalationState } from '../domain/escalation.ts'
import type { EventKind, NewEvent, StoredEvent } from '../domain/event.ts'
import type { AccountGate } from '../domain/limit.ts'
import type { QuotaWindow } from '../domain/quota.ts'
import type { RememberedAnswer } from '../domain/remembered-answer.ts'
import type { Tx } from './database.ts'
import type { EscalationSession, NewSessionRow, OutboxRow, SessionRow, SpendingRow } from './tables.ts'
import type {
  EvidenceStore,
  FeatureStore,
  GateResultStore,
  JournalStore,
  MergeStore,
  RunStore,
  ScheduleStore,
  TaskStore,
  WorktreeStore,
} from './task-stores.ts'
import type {
  CcusageEnv,
  QuotaAccount,
  QuotaHistoryKey,
  QuotaHistoryQuery,
  QuotaHistoryRetention,
  SessionUsageReports,
} from './usage-reports.ts'

export type { Tx } from './database.ts'

/** Rows and nothing else. Every method may throw `store_unusable` (disk full, file gone) or `store_damaged`; the store stays usable. */
export interface Store extends AsyncDisposable {
  /** Number of the newest migration. */
  readonly schema: number
  /**
   * Everything `work` does through `tx` happens, or nothing does. Await nothing but the store inside: all other writers
   * wait meanwhile. What must be in the transaction is given `tx`; a write without it is refused, it would wait for ever.
   */
  transaction<T>(work: (tx: Tx) => T | Promise<T>): Promise<T>
  /** Stores events in order; resolves once they are committed (with `tx`: once they are part of its transaction). */
  append(events: NewEvent[], tx?: Tx): Promise<StoredEvent[]>
  /** Every event after the given id, past ones first, then live, until the signal or `close` ends it. */
  follow(after: number, options?: FollowOptions): AsyncIterable<StoredEvent>
  /** Stored events in order. `tail` gives the last so many, `limit` the first. */
  events(query: EventQuery): Promise<StoredEvent[]>
  readonly sessions: SessionStore
  readonly escalations: EscalationStore
  readonly answers: AnswerStore
  readonly tasks: TaskStore
  readonly gates: AccountGateStore
  readonly quota: QuotaStore
  readonly spending: SpendingStore
  readonly outbox: OutboxStore
  readonly runs: RunStore
  readonly schedules: ScheduleStore
  readonly journal: JournalStore
  readonly features: FeatureStore
  readonly worktrees: WorktreeStore
  readonly evidence: EvidenceStore
  readonly gateResults: GateResultStore
  readonly merges: MergeStore
  readonly pruning: EventPruning
  close(): Promise<void>
}

export interface FollowOptions {
  subject?: string | undefined
  signal?: AbortSignal | undefined
  /** Only this process writes: no look for what others wrote, so that waiting costs nothing. */
  alone?: boolean | undefined
}

export interface EventQuery {
  subject?: string | undefined
  /** Ids above that one, and below that one. */
  after?: number | undefined
  before?: number | undefined
  kinds?: EventKind[] | undefined
  limit?: number | undefined
  tail?: number | undefined
  /** Stored at that moment or later, and before that one. */
  from?: number | undefined
  until?: number | undefined
}

export interface SessionStore {
  insert(row: NewSessionRow, tx?: Tx): Promise<SessionRow>
  /** Throws `session_unknown` where there is no such row. */
  update(id: string, patch: Partial<SessionRow>, tx?: Tx): Promise<void>
  get(id: string, tx?: Tx): Promise<SessionRow | undefined>
  /** Newest first. */
  list(filter?: { project?: string | undefined }): Promise<SessionRow[]>
  /** An id, a name, or the beginning of either (the id with or without `s-`) that fits only one session. */
  resolve(ref: string): Promise<SessionRow>
  /** Those that go on by themselves at a time, soonest first. */
  waiting(tx?: Tx): Promise<SessionRow[]>
}

export type EscalationRow = Omit<Escalation, 'number'>

export interface EscalationFilter {
  session?: string | undefined
  states?: readonly EscalationState[] | undefined
}

/** The table of what waits for a human. */
export interface EscalationStore {
  insert(row: EscalationRow, tx: Tx): Promise<number>
  /** The newest row of the same request of one session. */
  latest(session: string, fingerprint: string, tx: Tx): Promise<Escalation | undefined>
  /** The open row of the same question, whichever session asked it. */
  shared(dedupKey: string, tx: Tx): Promise<Escalation | undefined>
  /** Another session waits for the answer, or the same one with another call. */
  join(number: number, session: EscalationSession, tx: Tx): Promise<void>
  /** A session does not wait for it any more. */
  leave(number: number, session: string, tx: Tx): Promise<void>
  /** Those that wait, or waited, for the answer, by id. */
  sessionsOf(numbers: readonly number[], tx?: Tx): Promise<(EscalationSession & { number: number })[]>
  /** Asked once more. */
  repeat(number: number, again: RepeatedEscalation, tx: Tx): Promise<void>
  /** What was asked at a terminal is refused, because everybody left it. */
  refuse(number: number, tx: Tx): Promise<void>
  /** True for the first answer to a row in that state; a later one changes nothing. */
  answer(number: number, answer: StoredAnswer, tx: Tx): Promise<boolean>
  /** The answer did not reach anybody: it waits again. */
  reopen(number: number, tx: Tx): Promise<void>
  /** Closes what is open of a session without an answer; where others wait for the same, only the session leaves. */
  withdraw(session: string, why: { reason: string; at: number }, tx: Tx): Promise<void>
  get(number: number, tx?: Tx): Promise<Escalation | undefined>
  /** Open ones whose deadline is there or past, and the time of the next one. */
  due(now: number): Promise<{ rows: Escalation[]; next: number | undefined }>
  /** It waits on without a deadline. */
  dropDeadline(number: number, tx: Tx): Promise<void>
  /** Highest priority first, then oldest. */
  list(filter?: EscalationFilter): Promise<Escalation[]>
  count(states: readonly EscalationState[]): Promise<number>
}

/** `to`: what was refused in a person's place stays listed for them. */
export type StoredAnswer = EscalationAnswer & { at: number; from: 'open' | 'denied'; to?: 'answered' | 'denied' }

export type RepeatedEscalation = Pick<Escalation, 'call_id' | 'risk' | 'reason' | 'state' | 'last_at'>

/** An answer before it has an id. */
export type NewAnswer = RememberedAnswer extends infer Kind ? (Kind extends unknown ? Omit<Kind, 'id'> : never) : never

export interface AnswerFilter {
  kind?: RememberedAnswer['kind'] | undefined
  /** Those that count in this project. */
  project?: string | undefined
  limit?: number | undefined
}

/** Answers of people that count again, one per project and request. */
export interface AnswerStore {
  /** The newest answer takes the place of an older one, and of its id. */
  put(answer: NewAnswer, tx?: Tx): Promise<void>
  /** The one of exactly this project (or, with an empty name, of every project). */
  find(project: string, fingerprint: string): Promise<RememberedAnswer | undefined>
  /** Newest first. */
  list(filter?: AnswerFilter): Promise<RememberedAnswer[]>
  /** False where there is none with this id. */
  forget(id: string): Promise<boolean>
}

/** Which accounts may call the model. */
export interface AccountGateStore {
  get(account: string, tx?: Tx): Promise<AccountGate | undefined>
  list(): Promise<AccountGate[]>
  put(gate: AccountGate, at: number, tx: Tx): Promise<void>
}

/** How full accounts are: the newest word of each source, and the history that forecasts are made from. */
export interface QuotaStore {
  label(account: string, label: string, tx?: Tx): Promise<void>
  place(account: string, place: CcusageEnv, tx?: Tx): Promise<void>
  accounts(): Promise<QuotaAccount[]>
  windows(account?: string, tx?: Tx): Promise<(QuotaWindow & { account: string })[]>
  /** Takes the place of what the same source said of the same window. */
  put(account: string, window: QuotaWindow, tx?: Tx): Promise<void>
  /** Adds to the history; a point of the same moment is replaced. */
  keep(account: string, window: QuotaWindow, tx?: Tx): Promise<void>
  drop(point: QuotaHistoryKey, tx?: Tx): Promise<void>
  /** Points in order of time. */
  history(query: QuotaHistoryQuery, tx?: Tx): Promise<QuotaWindow[]>
  /** Removes what is older, or from a time that has not come, and leaves one point a step of what lies long back. */
  thin(times: QuotaHistoryRetention, tx?: Tx): Promise<void>
  /** Reports of the account's sessions since a time, each session's in order, with the last one before that time as its base. */
  spending(account: string, since: number): Promise<SessionUsageReports[]>
}

export type SpendingKey = Pick<SpendingRow, 'scope' | 'key'>

/** What was spent, by task, session, day and project. */
export interface SpendingStore {
  /** Adds the same to each of them, and gives what they come to now. */
  add(keys: readonly SpendingKey[], more: { amounts: Amounts; at: number }, tx: Tx): Promise<SpendingRow[]>
  /** Those there are. */
  of(keys: readonly SpendingKey[], tx?: Tx): Promise<SpendingRow[]>
  /** Of one scope, the last changed first. */
  list(scope: SpendingRow['scope']): Promise<SpendingRow[]>
  /** It counts from zero again. */
  forget(key: SpendingKey, tx: Tx): Promise<void>
}

/** Old events, and how they are removed. */
export interface EventPruning {
  /** Bytes of the database that hold something. */
  usedBytes(): Promise<number>
  /** Time of the newest event before a moment. */
  newestBefore(time: number): Promise<number | undefined>
  /** Removes the events of a subject before a time, in small steps, but for how it began and ended. Gives how many. */
  prune(subject: string, before: number, signal: AbortSignal): Promise<number>
  /** Gives some of the space that was freed back to the disk. */
  giveBack(): Promise<void>
}

export type NewOutboxRow = Pick<OutboxRow, 'channel' | 'kind' | 'dedup_key' | 'body' | 'next_at' | 'created_at'>

/** What people are to be told, by channel. */
export interface OutboxStore {
  /** True where it is new; the same again on the same channel changes nothing. */
  add(row: NewOutboxRow, tx: Tx): Promise<boolean>
  /** What waits or may be reminded of, up to a time, oldest first. */
  due(channel: string, until: number): Promise<OutboxRow[]>
  /** When the next one of a channel is due. */
  nextAt(channel: string): Promise<number | undefined>
  /** The clock was set back: what was written by the one before is as old, and due as soon, as it was. */
  setBack(channel: string, now: number): Promise<void>
  /** Of those that still wait or may be reminded of. */
  update(ids: readonly number[], patch: Partial<Omit<OutboxRow, 'id'>>): Promise<void>
  /** It was settled: nobody needs to be told any more, and the same may come up again. */
  forget(dedupKey: string, tx: Tx): Promise<void>
  /** Removes what was said, or given up, before a time. */
  prune(before: number): Promise<void>
  cursor(name: string): Promise<number | undefined>
  moveCursor(name: string, eventId: number, tx?: Tx): Promise<void>
}
