import type { AcceptedFile, OwnFileChange } from '../base/accepted-file.ts'
import type { ApiKey, AuditEntry } from '../domain/access.ts'
import type { Escalation, EscalationAnswer, EscalationState } from '../domain/escalation.ts'
import type { EventKind, NewEvent, StoredEvent } from '../domain/event.ts'
import type { CapturedRow, ObservedSession } from '../domain/hook-capture.ts'
import type { AccountGate } from '../domain/limit.ts'
import type { DeliveryState } from '../domain/option-values.ts'
import type { QuotaWindow } from '../domain/quota.ts'
import type { RememberedAnswer } from '../domain/remembered-answer.ts'
import type { WebhookDelivery } from '../domain/webhook.ts'
import type { Tx } from './database.ts'
import type { SpendingStore } from './spending.ts'
import type { ApiReplyRow, EscalationSession, NewSessionRow, OutboxRow, SessionRow } from './tables.ts'
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

/** Reads and writes rows, and nothing else. Every method may throw `store_unusable` (disk full, file gone) or `store_damaged`; the store stays usable. */
export interface Store extends AsyncDisposable {
  /** The number of the newest migration. */
  readonly schema: number
  /** While this number stays the same, what was read is still so: it rises before a change of this process can be read. */
  edition(): number
  /**
   * Everything that `work` does through `tx` happens, or nothing does. Await nothing but the store inside, because all other
   * writers wait meanwhile. Pass `tx` to every call that belongs to the transaction: a write without it is refused, because
   * it would wait for itself forever.
   */
  transaction<T>(work: (tx: Tx) => T | Promise<T>): Promise<T>
  /**
   * The same for many callers at once: work of the same turn of the event loop shares one transaction, because a commit costs more than
   * what is in it. If one fails, nothing of it is stored, and the others are done again: `work` does nothing but read and write rows.
   */
  share<T>(work: (tx: Tx) => T | Promise<T>): Promise<T>
  /** Stores events in order. Resolves once they are committed or, with `tx`, once they are part of its transaction. */
  append(events: NewEvent[], tx?: Tx): Promise<StoredEvent[]>
  /** Every event after the given id, first the stored ones, then new ones as they come, until the signal or `close` ends it. */
  follow(after: number, options?: FollowOptions): AsyncIterable<StoredEvent>
  /** Stored events in order. `limit` is the number of first events to return, `tail` that of last events. */
  events(query: EventQuery): Promise<StoredEvent[]>
  readonly sessions: SessionStore
  readonly escalations: EscalationStore
  readonly answers: AnswerStore
  readonly acceptedFiles: AcceptedFileStore
  readonly apiKeys: ApiKeyStore
  readonly audit: AuditStore
  readonly apiReplies: ApiReplyStore
  readonly figures: FigureStore
  readonly tasks: TaskStore
  readonly gates: AccountGateStore
  readonly quota: QuotaStore
  readonly spending: SpendingStore
  readonly outbox: OutboxStore
  readonly webhooks: WebhookStore
  readonly observed: ObservedStore
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
  /** Only this process writes, so events of other processes are not polled for and waiting costs nothing. */
  alone?: boolean | undefined
}

export interface EventQuery {
  subject?: string | undefined
  /** Only events with an id above `after` and below `before`. */
  after?: number | undefined
  before?: number | undefined
  kinds?: EventKind[] | undefined
  limit?: number | undefined
  tail?: number | undefined
  /** Only events stored at `from` or later, and before `until`. */
  from?: number | undefined
  until?: number | undefined
}

export interface SessionFilter {
  project?: string | undefined
  /**
   * `live`: not ended. `open`: not over for good. `marked`: its agent's processes have a marker. `parked`: a call of it waits for an answer.
   */
  only?: 'live' | 'open' | 'marked' | 'parked' | undefined
  /** With `open` also those that ended at this time or later. */
  since?: number | undefined
  limit?: number | undefined
}

export interface SessionStore {
  insert(row: NewSessionRow, tx?: Tx): Promise<SessionRow>
  /** Throws `session_unknown` if there is no such row. */
  update(id: string, patch: Partial<SessionRow>, tx?: Tx): Promise<void>
  get(id: string, tx?: Tx): Promise<SessionRow | undefined>
  /** Those of these ids that exist, in no order. */
  of(ids: readonly string[]): Promise<SessionRow[]>
  /** Newest first. After a year there are thousands: whoever asks often says which. */
  list(filter?: SessionFilter): Promise<SessionRow[]>
  count(filter?: Pick<SessionFilter, 'project'>): Promise<number>
  /** Finds a session by its id, its name, or a unique beginning of either (the id with or without `s-`). */
  resolve(ref: string): Promise<SessionRow>
  /** Sessions that resume by themselves at a time, soonest first. */
  waiting(tx?: Tx): Promise<SessionRow[]>
  /** Sessions that are not over and do not resume by themselves, oldest first. */
  standing(): Promise<SessionRow[]>
}

export type EscalationRow = Omit<Escalation, 'number'>

export interface EscalationFilter {
  session?: string | undefined
  states?: readonly EscalationState[] | undefined
}

/** The decisions that wait for a human. */
export interface EscalationStore {
  insert(row: EscalationRow, tx: Tx): Promise<number>
  /** The newest row for the same request of one session. */
  latest(session: string, fingerprint: string, tx: Tx): Promise<Escalation | undefined>
  /** The newest row for the same request of a task that was refused, whichever attempt made it. */
  latestOfTask(task: string, fingerprint: string, tx: Tx): Promise<Escalation | undefined>
  /** The open row for the same question, whichever session asked it. */
  shared(dedupKey: string, tx: Tx): Promise<Escalation | undefined>
  /** Adds a session that waits for the answer, or replaces the call with which it waits. */
  join(number: number, session: EscalationSession, tx: Tx): Promise<void>
  /** Removes a session that no longer waits for the answer. */
  leave(number: number, session: string, tx: Tx): Promise<void>
  /** The sessions that wait, or waited, for these answers, ordered by id. */
  sessionsOf(numbers: readonly number[], tx?: Tx): Promise<(EscalationSession & { number: number })[]>
  /** Withdraws the refused requests of a task that begins anew. */
  withdrawRefused(task: string, why: { reason: string; at: number }, tx: Tx): Promise<void>
  /** Records that the same request was made again. */
  repeat(number: number, again: RepeatedEscalation, tx: Tx): Promise<void>
  /** Denies a request that was asked at a terminal, because everybody left that terminal. */
  refuse(number: number, bound: string | null, tx: Tx): Promise<void>
  /** Stores an answer. Returns true for the first answer to a row in the state `from`; a later one changes nothing. */
  answer(number: number, answer: StoredAnswer, tx: Tx): Promise<boolean>
  /** Allows the refused request of an approved row once, until a time; false if it was used already, or cannot be allowed. */
  allowOnce(number: number, until: number, tx: Tx): Promise<boolean>
  /** Uses a request that was allowed once. Of two calls only one gets the row. */
  spendAllowance(use: { bound: string; task: string; now: number }, tx: Tx): Promise<Escalation | undefined>
  /** Opens a row again, because its answer reached nobody. */
  reopen(number: number, tx: Tx): Promise<void>
  /** Closes the open rows of a session without an answer. If other sessions wait for the same row, only this session leaves. */
  withdraw(session: string, why: { reason: string; at: number }, tx: Tx): Promise<void>
  get(number: number, tx?: Tx): Promise<Escalation | undefined>
  /** The open rows whose deadline has passed, and the time of the next deadline. */
  due(now: number): Promise<{ rows: Escalation[]; next: number | undefined }>
  /** Lets a row wait without a deadline. */
  dropDeadline(number: number, tx: Tx): Promise<void>
  /** Highest priority first, then oldest. */
  list(filter?: EscalationFilter): Promise<Escalation[]>
  count(states: readonly EscalationState[]): Promise<number>
}

/** `to` is `denied` if the request was denied on a person's behalf, so that it stays listed for them. */
export type StoredAnswer = EscalationAnswer & { at: number; from: 'open' | 'denied'; to?: 'answered' | 'denied' }

export type RepeatedEscalation = Pick<Escalation, 'call_id' | 'risk' | 'reason' | 'state' | 'last_at'> &
  Partial<Pick<Escalation, 'session_id' | 'bound'>>

/** A remembered answer without its id. */
export type NewAnswer = RememberedAnswer extends infer Kind ? (Kind extends unknown ? Omit<Kind, 'id'> : never) : never

export interface AnswerFilter {
  kind?: RememberedAnswer['kind'] | undefined
  /** Only answers that apply to this project. */
  project?: string | undefined
  limit?: number | undefined
}

/** Answers of people that are reused, one per project and request. */
export interface AnswerStore {
  /** Replaces an older answer and its id. */
  put(answer: NewAnswer, tx?: Tx): Promise<void>
  /** The answer for exactly this project; an empty name means the answer for every project. */
  find(project: string, fingerprint: string): Promise<RememberedAnswer | undefined>
  /** Newest first. */
  list(filter?: AnswerFilter): Promise<RememberedAnswer[]>
  /** Returns false if there is no answer with this id. */
  forget(id: string): Promise<boolean>
}

/** The content of the person's own files that counts: settings, rules and trust. */
export interface AcceptedFileStore {
  list(): Promise<AcceptedFile[]>
  /** Accepts the content of a file that is not known yet. */
  begin(file: AcceptedFile): Promise<void>
  /** Records a change; false if it is based on content that does not count. */
  accept(change: OwnFileChange): Promise<boolean>
}

/** Keys of the API. A key is never deleted, so that the audit log can always say whose it was. */
export interface ApiKeyStore {
  list(): Promise<ApiKey[]>
  /** Returns false if the name is taken. */
  insert(key: ApiKey): Promise<boolean>
  update(id: string, patch: Partial<Omit<ApiKey, 'id' | 'name' | 'scope'>>): Promise<void>
}

export type NewAuditEntry = Omit<AuditEntry, 'id' | 'failed'>

export interface AuditFilter {
  since?: number | undefined
  caller?: string | undefined
  /** Only entries before this one. */
  before?: number | undefined
  limit: number
}

/** Replies that are kept so that a repeated request gets the same one. */
export interface ApiReplyStore {
  get(caller: string, key: string): Promise<ApiReplyRow | undefined>
  /** Notes that the request is being done. False if the key is in use. */
  begin(row: Omit<ApiReplyRow, 'status' | 'reply'>): Promise<boolean>
  finish(caller: string, key: string, done: { status: number; reply: string }): Promise<void>
  /** Forgets a request that was refused: it may be sent again. */
  drop(caller: string, key: string): Promise<void>
  /** Forgets replies that were begun before this time. */
  dropBefore(time: number): Promise<void>
}

/** Who asked for which change. The database refuses to change and to delete rows. */
export interface AuditStore {
  /** Returns the id of the new row. */
  add(entry: NewAuditEntry): Promise<number>
  /** Records that the change of an entry did not happen, with the status of the reply. */
  fail(entry: NewAuditEntry & { id: number }, status: number): Promise<void>
  /** The newest first. */
  list(filter: AuditFilter): Promise<AuditEntry[]>
}

/** How many rows of each kind there are. */
export type RowCounts = Partial<Record<string, number>>

/** What the store knows in numbers, read in a few milliseconds whatever its size. */
export interface StoreFigures {
  /** By state. */
  tasks: RowCounts
  /** Closed attempts by outcome. */
  attempts: RowCounts
  /** By state; those that have ended also by how. */
  sessions: RowCounts
  ended_sessions: RowCounts
  /** Of each project, when the task was written down that is taken next. */
  heads: number[]
  /** What waits for a person. */
  escalations: { kind: string; count: number; oldest: number }[]
  /** Sessions that wait for a person because of a failure: src/domain/escalation.ts. */
  incidents: number
  /** Since the store was made. */
  spent: { tokens: number; cost_usd: number; turns: number }
  /** Merges under way. */
  merging: number
}

export interface FigureStore {
  read(): Promise<StoreFigures>
}

/** Which accounts may call the model. */
export interface AccountGateStore {
  get(account: string, tx?: Tx): Promise<AccountGate | undefined>
  list(): Promise<AccountGate[]>
  put(gate: AccountGate, at: number, tx: Tx): Promise<void>
}

/** How full accounts are: the newest report of each source, and the history from which forecasts are made. */
export interface QuotaStore {
  label(account: string, label: string, tx?: Tx): Promise<void>
  place(account: string, place: CcusageEnv, tx?: Tx): Promise<void>
  accounts(): Promise<QuotaAccount[]>
  windows(account?: string, tx?: Tx): Promise<(QuotaWindow & { account: string })[]>
  /** Replaces the report of the same source on the same window. */
  put(account: string, window: QuotaWindow, tx?: Tx): Promise<void>
  /** Adds a point to the history, or replaces the one of the same moment. */
  keep(account: string, window: QuotaWindow, tx?: Tx): Promise<void>
  drop(point: QuotaHistoryKey, tx?: Tx): Promise<void>
  /** Points of the history in order of time. */
  history(query: QuotaHistoryQuery, tx?: Tx): Promise<QuotaWindow[]>
  /** Removes points that are too old or in the future, and keeps one point per step of older times. */
  thin(times: QuotaHistoryRetention, tx?: Tx): Promise<void>
  /** Usage reports of the account's sessions since a time, each session's in order, with the last one before that time as its base. */
  spending(account: string, since: number): Promise<SessionUsageReports[]>
}

/** Removes old events. */
export interface EventPruning {
  /** The bytes of the database that are in use. */
  usedBytes(): Promise<number>
  /** The time of the newest event before this time. */
  newestBefore(time: number): Promise<number | undefined>
  /** Removes the events of a subject before a time, in small batches, but keeps its start and end. Returns how many were removed. */
  prune(subject: string, before: number, signal: AbortSignal): Promise<number>
  /** Returns some of the freed space to the disk. */
  giveBack(): Promise<void>
}

export type NewOutboxRow = Pick<OutboxRow, 'channel' | 'kind' | 'dedup_key' | 'body' | 'next_at' | 'created_at'>

/** Notices to people, by channel. */
export interface OutboxStore {
  /** Returns true if the notice is new; the same notice on the same channel changes nothing. */
  add(row: NewOutboxRow, tx: Tx): Promise<boolean>
  /** Notices to send or to remind of, up to a time, oldest first. */
  due(channel: string, until: number, limit?: number): Promise<OutboxRow[]>
  /** How many notices of a channel wait, how many were given up since one was sent, and the problem of the next one or of those. */
  backlog(channel: string): Promise<{ waiting: number; failed: number; problem: string | null }>
  /** Forgets everything of the channels whose name begins so and is none of these, and their cursors. */
  forgetOthers(prefix: string, channels: readonly string[]): Promise<void>
  /** When the next notice of a channel is due. */
  nextAt(channel: string): Promise<number | undefined>
  /** Adjusts the rows after the clock was set back, so that rows from the future keep their delay until they are due. */
  setBack(channel: string, now: number): Promise<void>
  /** Changes only rows that are still to be sent or reminded of. */
  update(ids: readonly number[], patch: Partial<Omit<OutboxRow, 'id'>>): Promise<void>
  /** Settles a notice: it is not sent any more, and the same one may come up again. */
  forget(dedupKey: string, tx: Tx): Promise<void>
  /** Settles the notices whose key begins so and is none of these: what they are about is gone. */
  settleOthers(prefix: string, keys: ReadonlySet<string>, tx: Tx): Promise<void>
  /** Removes notices that were sent or given up before a time. */
  prune(before: number): Promise<void>
  cursor(name: string): Promise<number | undefined>
  moveCursor(name: string, eventId: number, tx?: Tx): Promise<void>
}

export type NewDelivery = Pick<WebhookDelivery, 'source' | 'delivery' | 'digest' | 'event' | 'body' | 'received_at'>

/** Messages from outside. */
export interface WebhookStore {
  /** Stores a message, unless it came before or `most` wait already. When this resolves, it is on disk. */
  add(row: NewDelivery, most: number): Promise<'new' | 'known' | 'full'>
  get(id: number, tx?: Tx): Promise<WebhookDelivery | undefined>
  /** What is to be worked on until a time, the oldest first. */
  due(until: number, limit: number): Promise<WebhookDelivery[]>
  nextAt(): Promise<number | undefined>
  /** How many wait to be worked on. */
  count(): Promise<number>
  /** The same for each source that has some. */
  countBySource(): Promise<ReadonlyMap<string, number>>
  /** The newest first. */
  list(filter: {
    state?: DeliveryState | undefined
    source?: string | undefined
    limit: number
  }): Promise<WebhookDelivery[]>
  /** Changes a message that is as it was read; false if somebody else changed it first. */
  move(row: WebhookDelivery, patch: Partial<Omit<WebhookDelivery, 'id'>>, tx: Tx): Promise<boolean>
  /** Forgets what came before a time and is over, and the bodies of all but the newest that have failed or were refused. */
  prune(before: number, keepText: number): Promise<void>
}

/** What the hooks of agents that pcc did not start have reported. */
export interface ObservedStore {
  /** Stores what is new of these, with one commit. What has an id that is stored already changes nothing. Returns how many were new. */
  capture(rows: readonly CapturedRow[]): Promise<number>
  get(id: string): Promise<ObservedSession | undefined>
  /** The newest first. */
  list(filter?: { project?: string | undefined; since?: number | undefined }): Promise<ObservedSession[]>
  /** Ends sessions whose process is gone. */
  end(ids: readonly string[], ending: { at: number; as: string }): Promise<void>
  /** How many tokens the observed sessions of a vendor have used since a time, without what came from a cache. */
  spent(vendor: string, since: number): Promise<number>
  /** Forgets the ids of what was captured before a time, because nobody sends it again, and what was used before it. */
  forgetIds(before: number): Promise<void>
}
