import type { AccountAdmission, AccountGates } from '../../agents/limits/account-gates.ts'
import type { QuotaBook } from '../../agents/limits/quota.ts'
import { type GatedSession, nextAllowedTime, resumeTimes, trialTimes } from '../../agents/limits/resume-times.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { type AccountGate, EVERY_ACCOUNT, faultOf, type Limit } from '../../domain/limit.ts'
import {
  findCriticalReset,
  levelOf,
  NEARLY_USED_UP,
  type QuotaWindow,
  startsAllowed,
  type TriedAccount,
  windowsIn,
} from '../../domain/quota.ts'
import type { SessionEvent } from '../../domain/session.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { AccountLevel, AccountLimits, LiveSession, QuotaHolder } from '../session/context.ts'
import { remedyFor } from '../session/endings.ts'
import { pauseForGate } from '../session/stop-agent.ts'

export interface AccountsDeps {
  store: Store
  clock: Clock
  gates: AccountGates
  quota: Pick<QuotaBook, 'rememberAgent' | 'seen' | 'windows' | 'outdate'>
  /** The sessions that run now. */
  live(): Iterable<LiveSession>
  /** Called when a session that had to wait may start now. */
  changed(): void
}

/** The sessions of one account share its allowance: a limit for one of them holds back all of them. */
export class Accounts implements AccountLimits {
  readonly #deps: AccountsDeps
  /** The windows of each account as they were last reported or read. */
  readonly #windows = new Map<string, QuotaWindow[]>()
  /** Accounts that a person opened before their time, and whose model has not answered yet. */
  readonly #tried = new Set<string>()

  constructor(deps: AccountsDeps) {
    this.#deps = deps
  }

  /** A session of this account begins. */
  rememberAgent(account: string, agent: { agent: string; env: Record<string, string> }, tx: Tx): Promise<void> {
    return this.#deps.quota.rememberAgent(account, agent, tx)
  }

  /** Whether a session of this account may call the model now. */
  admits({ row }: Pick<LiveSession, 'row'>): Promise<AccountAdmission> {
    return row.account === null ? Promise.resolve({ open: true }) : this.#deps.gates.admits(row.account)
  }

  /** Closes the account after a limit: in its row, and for all its sessions, which stop at their next step. */
  async closeForLimit(live: LiveSession, limit: Limit): Promise<AccountGate | undefined> {
    const { account } = live.row
    if (account === null) return undefined
    const remedy = limit.fault ? `\n${remedyFor(limit.fault, live)}` : ''
    const closing = this.#deps.gates.close(account, { ...limit, message: `${limit.message}${remedy}` })
    // Before the row is written, so that no session calls the model meanwhile. The call below is for sessions that read the gate before.
    this.#holdBackOthers(live)
    const gate = await closing
    this.#tried.delete(account)
    live.log.warn({ account, until: gate.closed_until, window: gate.window }, 'the account is closed')
    this.#holdBackOthers(live)
    return gate
  }

  #holdBackOthers(live: LiveSession): void {
    for (const other of this.#deps.live()) {
      if (other !== live && other.row.account === live.row.account) pauseForGate(other)
    }
  }

  /** A person held or released an account: live sessions of a closed account stop at their next step. */
  async lookAtAll(): Promise<void> {
    for (const live of this.#deps.live()) {
      if (!(await this.admits(live)).open) pauseForGate(live)
    }
  }

  /** The model answered: the limit of the account is over. Acted on once per start of an agent. */
  async answered(live: LiveSession): Promise<void> {
    const isFirst = !live.agent.answered
    live.agent.answered = true
    const { account } = live.row
    if (!isFirst || account === null) return
    await this.#deps.gates.reopen(account)
    if (this.#tried.delete(account)) this.#deps.changed()
  }

  /** A person wants one account, or all of them, tried before their time. Returns those for which that changed something. */
  async tryNow(account: string): Promise<TriedAccount[]> {
    const trials = await reopenForTrial(account, this.#deps)
    for (const trial of trials) {
      this.#windows.delete(trial.account)
      if (trial.wasClosed) this.#tried.add(trial.account)
    }
    const changed = trials.filter(({ wasClosed, sessions }) => wasClosed || sessions.length > 0)
    return changed.map(({ wasClosed: _, ...trial }) => trial)
  }

  /** Tries accounts that a fault has closed, because a person may have mended it: all of them, or those that `isMended` names. */
  async tryMended(isMended: (gate: AccountGate) => Promise<boolean> = async () => true): Promise<boolean> {
    const { gates, clock } = this.#deps
    let tries = 0
    for (const gate of await gates.list()) {
      const isClosed = faultOf(gate) !== undefined && (gate.closed_until ?? 0) > clock.now()
      if (!isClosed || !(await isMended(gate))) continue
      await this.tryNow(gate.account)
      tries += 1
    }
    return tries > 0
  }

  /** The vendor reported how full its windows are. At the level critical, `quota.on_critical = "pause"` closes the account. */
  async recordLimit(event: Extract<SessionEvent, { kind: 'limit' }>, live: LiveSession): Promise<void> {
    const { account } = live.row
    const { quota, clock } = this.#deps
    const windows = windowsIn(event, clock.now())
    if (account === null || windows.length === 0) return
    try {
      await quota.seen(account, windows)
    } catch (error) {
      live.log.warn({ problem: messageOf(error) }, 'the quota could not be stored')
    }
    await this.level(live)
    const now = clock.now()
    if (
      levelOf(windows, live.settings.quota.thresholds, now) === 'critical' &&
      live.settings.quota.onCritical === 'pause'
    ) {
      const resetsAt = findCriticalReset(windows, live.settings.quota.thresholds, now)
      const message = `${NEARLY_USED_UP} (quota.on_critical = "pause")`
      await this.closeForLimit(live, { source: 'event', message, ...(resetsAt !== undefined && { resetsAt }) })
      pauseForGate(live)
    }
    this.#deps.changed()
  }

  /** Opens an account that was closed because its allowance was nearly used up, and not by the vendor. */
  async openWhenEased(account: string, tx: Tx): Promise<void> {
    const gate = await this.#deps.gates.of(account, tx)
    if (gate?.reason?.startsWith(NEARLY_USED_UP)) await this.#deps.gates.openForTrial(account, tx)
  }

  /** How full the account is, as far as that is known. */
  async level({ row, settings: { quota } }: QuotaHolder): Promise<AccountLevel> {
    if (row.account === null) return { level: 'unknown', resetsAt: undefined, fullest: undefined }
    const now = this.#deps.clock.now()
    const windows = await this.#deps.quota.windows(row.account)
    this.#windows.set(row.account, windows)
    const counted = windows.filter(window => levelOf([window], quota.thresholds, now) !== 'unknown')
    return {
      level: levelOf(windows, quota.thresholds, now),
      resetsAt: findCriticalReset(windows, quota.thresholds, now),
      fullest: counted.toSorted((a, b) => b.utilization - a.utilization)[0],
    }
  }

  /** How many sessions of the account may be at work when one more wants to start, by its known windows. */
  allowed({ row, settings: { quota } }: LiveSession, max: number): number {
    if (row.account !== null && this.#tried.has(row.account)) return Math.min(max, 1 + this.#leaving(row.account))
    const windows = (row.account !== null && this.#windows.get(row.account)) || []
    return startsAllowed(levelOf(windows, quota.thresholds, this.#deps.clock.now()), max)
  }

  /** Sessions of the account that still count as at work, but will not call the model again before they stop. */
  #leaving(account: string): number {
    const sessions = [...this.#deps.live()].filter(({ row }) => row.account === account)
    return sessions.filter(
      ({ row, control }) => control.pausing === 'gate' && row.state !== 'queued' && row.state !== 'ended',
    ).length
  }

  /**
   * When this session resumes by itself: after the account opens, a little apart from the others that wait for it, and within
   * the hours that a person agreed to, which `inHours` says if they move the time. Null if only a person may resume it.
   */
  async resumesAt(live: LiveSession, gate: AccountGate): Promise<{ at: number | null; inHours: boolean }> {
    const opens = await staggerResumes(this.#deps.store, gate, live.row)
    // A person agrees to the use of a fresh allowance. Nothing of it is used by trying a login.
    const at = faultOf(gate) ? opens : nextAllowedTime(opens, live.settings.consent)
    return { at, inHours: at !== null && at !== opens }
  }
}

export interface AccountTrial extends TriedAccount {
  /** Whether a limit had closed the account; if not, at most its allowance was reported as used up. */
  wasClosed: boolean
}

interface TrialDeps {
  store: Store
  clock: Clock
  gates: AccountGates
  quota: Pick<QuotaBook, 'outdate'>
}

/**
 * Opens one account that a limit has closed, or all of them, marks what the vendor reported of its windows as outdated, and
 * gives its sessions new times: one resumes at once, the others so much later that a refusal closes the account again before
 * they call.
 */
async function reopenForTrial(account: string, deps: TrialDeps): Promise<AccountTrial[]> {
  const accounts = account === EVERY_ACCOUNT ? (await deps.store.quota.accounts()).map(row => row.account) : [account]
  return deps.store.transaction(async tx => {
    const trials: AccountTrial[] = []
    for (const id of accounts) trials.push(await openOneForTrial(id, deps, tx))
    return trials
  })
}

async function openOneForTrial(
  account: string,
  { store, clock, gates, quota }: TrialDeps,
  tx: Tx,
): Promise<AccountTrial> {
  const fault = await gates.of(account, tx).then(gate => gate && faultOf(gate))
  const wasClosed = await gates.openForTrial(account, tx)
  await quota.outdate(account, tx)
  const now = clock.now()
  const waiting = (await store.sessions.waiting(tx)).filter(row => row.account === account)
  // A session that a person holds resumes when they release it: it must not be the one that tries.
  const free = waiting.filter(({ held_at }) => held_at === null)
  const times = trialTimes(now, free, Math.random)
  for (const { id } of waiting) await store.sessions.update(id, { resumes_at: times.get(id) ?? now }, tx)
  const sessions = [...times.keys()]
  await tx.append(
    sessions.map((subject, index) => ({
      actor: 'human',
      subject,
      kind: 'session.noted',
      body: { text: trialNote(index, fault !== undefined) },
    })),
  )
  return { account, wasClosed, sessions }
}

function trialNote(index: number, isMended: boolean): string {
  const when = index === 0 ? 'goes on at once, to try it' : 'goes on when another session has tried it'
  if (isMended) return `The account may work again: this session ${when}.`
  return `A person says that the limit is over (pcc quota release --now): this session ${when}.`
}

/** A session that resumes later than this after the opening has another reason for its time, such as the hours that a person agreed to. */
const STAGGER_MS = 130_000

/**
 * Gives every session that waits for an account a time after it opens, by priority and age and a little apart from one another,
 * and returns the newcomer's. The sessions that wait already get new times too, so that no two have the same.
 */
export async function staggerResumes(
  store: Store,
  gate: AccountGate,
  newcomer: GatedSession & { account: string | null },
): Promise<number> {
  const opens = gate.closed_until ?? 0
  return store.transaction(async tx => {
    const waiting = (await store.sessions.waiting(tx)).filter(
      ({ id, account, ended_as, resumes_at }) =>
        id !== newcomer.id &&
        account === newcomer.account &&
        (ended_as === 'rate_limited' || faultOf(gate) !== undefined) &&
        (resumes_at ?? 0) <= opens + STAGGER_MS,
    )
    const times = resumeTimes(gate, [...waiting, newcomer], Math.random)
    for (const { id } of waiting) await store.sessions.update(id, { resumes_at: times.get(id) ?? opens }, tx)
    return times.get(newcomer.id) ?? opens
  })
}
