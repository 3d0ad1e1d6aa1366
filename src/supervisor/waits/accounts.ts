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
  windowsIn,
} from '../../domain/account/quota.ts'
import type { SessionEvent } from '../../domain/session.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { AccountDesk, Run } from '../run.ts'
import { holdBack } from './hold-back.ts'
import { stagger } from './stagger.ts'

export interface AccountParts {
  store: Store
  clock: Clock
  gates: Gates
  quota: Pick<QuotaBook, 'met' | 'seen' | 'windows'>
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
    const gate = await this.#parts.gates.close(account, limit)
    run.log.warn({ account, until: gate.closed_until, window: gate.window }, 'the account is shut')
    for (const other of this.#parts.live()) {
      if (other !== run && other.row.account === account) holdBack(other)
    }
    return gate
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
    if (isFirst && run.row.account !== null) await this.#parts.gates.reopen(run.row.account)
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
    const windows = (row.account !== null && this.#windows.get(row.account)) || []
    return startsAllowed(levelOf(windows, quota.thresholds, this.#parts.clock.now()), max)
  }

  /**
   * When this session goes on by itself: after the gate opens, a little apart from the others that wait there, and within
   * the hours a person agreed to. Null where only a person makes it go on.
   */
  async resumesAt(run: Run, gate: Gate): Promise<number | null> {
    return nextAllowed(await stagger(this.#parts.store, gate, run.row), run.consent)
  }
}
