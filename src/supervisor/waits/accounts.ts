import { nextAllowed } from '../../agents/limits/consent.ts'
import type { Admission, Gates } from '../../agents/limits/gates.ts'
import type { QuotaBook } from '../../agents/quota/quota.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Gate, Limit } from '../../domain/account/limit.ts'
import {
  easesAt,
  levelOf,
  type QuotaLevel,
  type QuotaWindow,
  startsAllowed,
  type TriedAccount,
  windowsIn,
} from '../../domain/account/quota.ts'
import type { SessionEvent } from '../../domain/session.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { AccountDesk, Run } from '../run.ts'
import { holdBack } from './hold-back.ts'
import { stagger } from './stagger.ts'
import { tryNow } from './try-now.ts'

export interface AccountParts {
  store: Store
  clock: Clock
  gates: Gates
  quota: Pick<QuotaBook, 'met' | 'seen' | 'windows' | 'outdate'>
  /** The sessions that run now. */
  live(): Iterable<Run>
  /** Somebody may enter who had to wait. */
  changed(): void
}

/** What the sessions of one account share: its allowance. A limit met by one holds back all of them. */
export class Accounts implements AccountDesk {
  readonly #parts: AccountParts
  /** As last told or read. */
  readonly #windows = new Map<string, QuotaWindow[]>()
  /** Opened by a person before their time, and nobody has had an answer yet. */
  readonly #tried = new Set<string>()

  constructor(parts: AccountParts) {
    this.#parts = parts
  }

  /** A session of this account begins. */
  met(account: string, agent: { agent: string; env: Record<string, string> }, tx: Tx): Promise<void> {
    return this.#parts.quota.met(account, agent, tx)
  }

  /** Whether a session of this account may call the model now. */
  admits({ row }: Pick<Run, 'row'>): Promise<Admission> {
    return row.account === null ? Promise.resolve({ open: true }) : this.#parts.gates.admits(row.account)
  }

  /** A limit was met: the account is shut, as a row, and everybody on it stops at the next step. */
  async shut(run: Run, limit: Limit): Promise<Gate | undefined> {
    const { account } = run.row
    if (account === null) return undefined
    const closing = this.#parts.gates.close(account, limit)
    // Not after it is written: what is about to call must be stopped before. Whoever looked at the gate meanwhile is next.
    this.#holdBackOthers(run)
    const gate = await closing
    this.#tried.delete(account)
    run.log.warn({ account, until: gate.closed_until, window: gate.window }, 'the account is shut')
    this.#holdBackOthers(run)
    return gate
  }

  #holdBackOthers(run: Run): void {
    for (const other of this.#parts.live()) {
      if (other !== run && other.row.account === run.row.account) holdBack(other)
    }
  }

  /** A person holds a gate, or lets it go: what is at work behind one that is shut stops at its next step, too. */
  async lookAtAll(): Promise<void> {
    for (const run of this.#parts.live()) {
      if (!(await this.admits(run)).open) holdBack(run)
    }
  }

  /** The model answered: whatever had shut the account is over. Told once per opening of an agent. */
  async answered(run: Run): Promise<void> {
    const isFirst = !run.answered
    run.answered = true
    const { account } = run.row
    if (!isFirst || account === null) return
    await this.#parts.gates.reopen(account)
    if (this.#tried.delete(account)) this.#parts.changed()
  }

  /** A person wants an account, or all of them, tried before their time. Told are those for which that changed something. */
  async tryNow(account: string): Promise<TriedAccount[]> {
    const trials = await tryNow(account, this.#parts)
    for (const trial of trials) {
      this.#windows.delete(trial.account)
      if (trial.wasClosed) this.#tried.add(trial.account)
    }
    const changed = trials.filter(({ wasClosed, sessions }) => wasClosed || sessions.length > 0)
    return changed.map(({ wasClosed: _, ...trial }) => trial)
  }

  /** The vendor told how full its windows are. Above critical, `quota.on_critical = "pause"` shuts the account. */
  async told(event: Extract<SessionEvent, { kind: 'limit' }>, run: Run): Promise<void> {
    const { account } = run.row
    const { quota, clock } = this.#parts
    const windows = windowsIn(event, clock.now())
    if (account === null || windows.length === 0) return
    try {
      await quota.seen(account, windows)
    } catch (error) {
      run.log.warn({ problem: messageOf(error) }, 'the quota could not be noted')
    }
    await this.level(run)
    const now = clock.now()
    if (levelOf(windows, run.quota.thresholds, now) === 'critical' && run.quota.onCritical === 'pause') {
      const resetsAt = easesAt(windows, run.quota.thresholds, now)
      const message = 'the allowance is nearly used up (quota.on_critical = "pause")'
      await this.shut(run, { source: 'event', message, ...(resetsAt !== undefined && { resetsAt }) })
      holdBack(run)
    }
    this.#parts.changed()
  }

  /** How near the wall the account is, by what is known of it. */
  async level({ row, quota }: Run): Promise<{ level: QuotaLevel; easesAt: number | undefined }> {
    if (row.account === null) return { level: 'unknown', easesAt: undefined }
    const now = this.#parts.clock.now()
    const windows = await this.#parts.quota.windows(row.account)
    this.#windows.set(row.account, windows)
    return { level: levelOf(windows, quota.thresholds, now), easesAt: easesAt(windows, quota.thresholds, now) }
  }

  /** How many sessions of the account may be at work when one more wants to start, by what is known of its allowance. */
  allowed({ row, quota }: Run, max: number): number {
    if (row.account !== null && this.#tried.has(row.account)) return Math.min(max, 1 + this.#leaving(row.account))
    const windows = (row.account !== null && this.#windows.get(row.account)) || []
    return startsAllowed(levelOf(windows, quota.thresholds, this.#parts.clock.now()), max)
  }

  /** Those of the account that have a place still, but will not call the model again before they have left it. */
  #leaving(account: string): number {
    const runs = [...this.#parts.live()].filter(({ row }) => row.account === account)
    return runs.filter(({ row, pausing }) => pausing === 'gate' && row.state !== 'queued' && row.state !== 'ended')
      .length
  }

  /**
   * When this session goes on by itself: after the gate opens, a little apart from the others that wait there, and within
   * the hours a person agreed to. Null where only a person makes it go on.
   */
  async resumesAt(run: Run, gate: Gate): Promise<number | null> {
    return nextAllowed(await stagger(this.#parts.store, gate, run.row), run.consent)
  }
}
