import type { AccountAdmission, AccountGates } from '../../agents/limits/account-gates.ts'
import type { QuotaBook } from '../../agents/limits/quota.ts'
import { type GatedSession, nextAllowedTime, resumeTimes, trialTimes } from '../../agents/limits/resume-times.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { type AccountGate, EVERY_ACCOUNT, type Limit } from '../../domain/limit.ts'
import {
  easesAt,
  levelOf,
  type QuotaLevel,
  type QuotaWindow,
  startsAllowed,
  type TriedAccount,
  windowsIn,
} from '../../domain/quota.ts'
import type { SessionEvent } from '../../domain/session.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { AccountLimits, LiveSession } from '../session/context.ts'
import { pauseForGate } from '../session/stop-agent.ts'

export interface AccountsDeps {
  store: Store
  clock: Clock
  gates: AccountGates
  quota: Pick<QuotaBook, 'met' | 'seen' | 'windows' | 'outdate'>
  /** The sessions that run now. */
  live(): Iterable<LiveSession>
  /** Somebody may enter who had to wait. */
  changed(): void
}

/** What the sessions of one account share: its allowance. A limit met by one holds back all of them. */
export class Accounts implements AccountLimits {
  readonly #deps: AccountsDeps
  /** As last told or read. */
  readonly #windows = new Map<string, QuotaWindow[]>()
  /** Opened by a person before their time, and nobody has had an answer yet. */
  readonly #tried = new Set<string>()

  constructor(deps: AccountsDeps) {
    this.#deps = deps
  }

  /** A session of this account begins. */
  met(account: string, agent: { agent: string; env: Record<string, string> }, tx: Tx): Promise<void> {
    return this.#deps.quota.met(account, agent, tx)
  }

  /** Whether a session of this account may call the model now. */
  admits({ row }: Pick<LiveSession, 'row'>): Promise<AccountAdmission> {
    return row.account === null ? Promise.resolve({ open: true }) : this.#deps.gates.admits(row.account)
  }

  /** A limit was met: the account is shut, as a row, and everybody on it stops at the next step. */
  async shut(live: LiveSession, limit: Limit): Promise<AccountGate | undefined> {
    const { account } = live.row
    if (account === null) return undefined
    const closing = this.#deps.gates.close(account, limit)
    // Not after it is written: what is about to call must be stopped before. Whoever looked at the gate meanwhile is next.
    this.#holdBackOthers(live)
    const gate = await closing
    this.#tried.delete(account)
    live.log.warn({ account, until: gate.closed_until, window: gate.window }, 'the account is shut')
    this.#holdBackOthers(live)
    return gate
  }

  #holdBackOthers(live: LiveSession): void {
    for (const other of this.#deps.live()) {
      if (other !== live && other.row.account === live.row.account) pauseForGate(other)
    }
  }

  /** A person holds a gate, or lets it go: what is at work behind one that is shut stops at its next step, too. */
  async lookAtAll(): Promise<void> {
    for (const live of this.#deps.live()) {
      if (!(await this.admits(live)).open) pauseForGate(live)
    }
  }

  /** The model answered: whatever had shut the account is over. Told once per opening of an agent. */
  async answered(live: LiveSession): Promise<void> {
    const isFirst = !live.answered
    live.answered = true
    const { account } = live.row
    if (!isFirst || account === null) return
    await this.#deps.gates.reopen(account)
    if (this.#tried.delete(account)) this.#deps.changed()
  }

  /** A person wants an account, or all of them, tried before their time. Told are those for which that changed something. */
  async tryNow(account: string): Promise<TriedAccount[]> {
    const trials = await reopenForTrial(account, this.#deps)
    for (const trial of trials) {
      this.#windows.delete(trial.account)
      if (trial.wasClosed) this.#tried.add(trial.account)
    }
    const changed = trials.filter(({ wasClosed, sessions }) => wasClosed || sessions.length > 0)
    return changed.map(({ wasClosed: _, ...trial }) => trial)
  }

  /** The vendor told how full its windows are. Above critical, `quota.on_critical = "pause"` shuts the account. */
  async told(event: Extract<SessionEvent, { kind: 'limit' }>, live: LiveSession): Promise<void> {
    const { account } = live.row
    const { quota, clock } = this.#deps
    const windows = windowsIn(event, clock.now())
    if (account === null || windows.length === 0) return
    try {
      await quota.seen(account, windows)
    } catch (error) {
      live.log.warn({ problem: messageOf(error) }, 'the quota could not be noted')
    }
    await this.level(live)
    const now = clock.now()
    if (levelOf(windows, live.quota.thresholds, now) === 'critical' && live.quota.onCritical === 'pause') {
      const resetsAt = easesAt(windows, live.quota.thresholds, now)
      const message = 'the allowance is nearly used up (quota.on_critical = "pause")'
      await this.shut(live, { source: 'event', message, ...(resetsAt !== undefined && { resetsAt }) })
      pauseForGate(live)
    }
    this.#deps.changed()
  }

  /** How near the wall the account is, by what is known of it. */
  async level({ row, quota }: LiveSession): Promise<{ level: QuotaLevel; easesAt: number | undefined }> {
    if (row.account === null) return { level: 'unknown', easesAt: undefined }
    const now = this.#deps.clock.now()
    const windows = await this.#deps.quota.windows(row.account)
    this.#windows.set(row.account, windows)
    return { level: levelOf(windows, quota.thresholds, now), easesAt: easesAt(windows, quota.thresholds, now) }
  }

  /** How many sessions of the account may be at work when one more wants to start, by what is known of its allowance. */
  allowed({ row, quota }: LiveSession, max: number): number {
    if (row.account !== null && this.#tried.has(row.account)) return Math.min(max, 1 + this.#leaving(row.account))
    const windows = (row.account !== null && this.#windows.get(row.account)) || []
    return startsAllowed(levelOf(windows, quota.thresholds, this.#deps.clock.now()), max)
  }

  /** Those of the account that have a place still, but will not call the model again before they have left it. */
  #leaving(account: string): number {
    const runs = [...this.#deps.live()].filter(({ row }) => row.account === account)
    return runs.filter(({ row, pausing }) => pausing === 'gate' && row.state !== 'queued' && row.state !== 'ended')
      .length
  }

  /**
   * When this session goes on by itself: after the gate opens, a little apart from the others that wait there, and within
   * the hours a person agreed to. Null where only a person makes it go on.
   */
  async resumesAt(live: LiveSession, gate: AccountGate): Promise<number | null> {
    return nextAllowedTime(await staggerResumes(this.#deps.store, gate, live.row), live.consent)
  }
}

export interface AccountTrial extends TriedAccount {
  /** A limit had closed it; otherwise its allowance was at most told to be used up. */
  wasClosed: boolean
}

interface TrialDeps {
  store: Store
  clock: Clock
  gates: AccountGates
  quota: Pick<QuotaBook, 'outdate'>
}

/**
 * Opens an account that a limit has closed, or all of them, takes what the vendor told of its windows for past, and gives its
 * sessions times from now on: one at once, the others so much later that a refusal closes the account again before they
 * knock.
 */
async function reopenForTrial(account: string, deps: TrialDeps): Promise<AccountTrial[]> {
  const known = account === EVERY_ACCOUNT ? (await deps.store.quota.accounts()).map(each => each.account) : [account]
  return deps.store.transaction(async tx => {
    const trials: AccountTrial[] = []
    for (const each of known) trials.push(await tryOne(each, deps, tx))
    return trials
  })
}

async function tryOne(account: string, { store, clock, gates, quota }: TrialDeps, tx: Tx): Promise<AccountTrial> {
  const wasClosed = await gates.openForTrial(account, tx)
  await quota.outdate(account, tx)
  const now = clock.now()
  const waiting = (await store.sessions.waiting(tx)).filter(row => row.account === account)
  // One that a person holds goes on when they let it go, and is not the one that tries.
  const free = waiting.filter(({ held_at }) => held_at === null)
  const times = trialTimes(now, free, Math.random)
  for (const { id } of waiting) await store.sessions.update(id, { resumes_at: times.get(id) ?? now }, tx)
  const sessions = [...times.keys()]
  await tx.append(
    sessions.map((subject, place) => ({
      actor: 'human',
      subject,
      kind: 'session.noted',
      body: { text: trialNote(place) },
    })),
  )
  return { account, wasClosed, sessions }
}

function trialNote(place: number): string {
  const when = place === 0 ? 'goes on at once, to try it' : 'goes on when another one has tried it'
  return `A person takes the limit for over (pcc quota release --now): this session ${when}.`
}

/** Later than everybody at a gate: a time of its own keeps such a session, the hours a person agreed to for example. */
const AT_THE_GATE_MS = 130_000

/**
 * Gives everybody who waits at a gate a time after it opens, by priority and age and a little apart from one another, and
 * gives back the newcomer's. Those who wait already are moved with it, so that nobody stands in the same place.
 */
export async function staggerResumes(
  store: Store,
  gate: AccountGate,
  newcomer: GatedSession & { account: string | null },
): Promise<number> {
  const opens = gate.closed_until ?? 0
  return store.transaction(async tx => {
    const there = (await store.sessions.waiting(tx)).filter(
      ({ id, account, ended_as, resumes_at }) =>
        id !== newcomer.id &&
        account === newcomer.account &&
        ended_as === 'rate_limited' &&
        (resumes_at ?? 0) <= opens + AT_THE_GATE_MS,
    )
    const times = resumeTimes(gate, [...there, newcomer], Math.random)
    for (const { id } of there) await store.sessions.update(id, { resumes_at: times.get(id) ?? opens }, tx)
    return times.get(newcomer.id) ?? opens
  })
}
