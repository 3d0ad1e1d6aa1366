import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { AccountAdmission } from '../../agents/limits/account-gates.ts'
import { nextAllowedTime } from '../../agents/limits/resume-times.ts'
import { type Clock, RETRY_MS } from '../../base/clock.ts'
import { crashPoint } from '../../base/crash-point.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { Alarm } from '../../base/keyed-worker.ts'
import type { Log } from '../../base/log.ts'
import { DAY_IS_SPENT, TASK_IS_SPENT } from '../../domain/budget.ts'
import { type AccountGate, EVERY_ACCOUNT, faultOf, GOES_ON_IN_HOURS } from '../../domain/limit.ts'
import { NEARLY_USED_UP } from '../../domain/quota.ts'
import { ACCOUNT_FAULTS } from '../../domain/session.ts'
import { loginFolder, vendorOf } from '../../domain/vendors.ts'
import { openEscalations } from '../../human/escalations.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { findOverrun, readSpendingTotals } from '../../tasks/budgets.ts'
import { chosenAgent, prepareResumed, type SupervisorContext } from '../context.ts'
import type { SessionDeps } from '../session/context.ts'
import { errorRow } from '../session/endings.ts'
import { INTERRUPTED } from '../session/recover.ts'
import { CUT_OFF, isStillWaiting } from '../session/settle.ts'
import { terminalNote } from '../session/terminal.ts'
import { type Accounts, staggerResumes } from './accounts.ts'

/** Clocks are corrected by a few seconds all the time. */
const CLOCK_TOLERANCE_MS = 60_000

export interface WakerDeps {
  store: Store
  clock: Clock
  log: Log
  /** Resumes a session, and deals with any problem itself. */
  wake(row: SessionRow): Promise<void>
  /** Looks for causes of waits that have ended: a renewed login, changed settings. Called on every look while a session waits. */
  tryMended(waiting: readonly SessionRow[]): Promise<void>
  /** Keeps agents from starting until several sessions have been resumed. */
  hold(): Disposable
}

/**
 * Resumes sessions whose time has come. The times are kept in the sessions' rows, so nothing is lost with this process. It does
 * nothing at all while no row waits.
 */
export class Waker extends Alarm {
  readonly #deps: WakerDeps

  constructor(deps: WakerDeps) {
    const failed = (error: unknown) => deps.log.error({ error }, 'could not check the sessions that wait')
    super({ look: () => this.#wakeDue(), failed })
    this.#deps = deps
  }

  async #wakeDue(): Promise<number | undefined> {
    const now = this.#deps.clock.now()
    await this.#deps.tryMended(await this.#listWaiting())
    const due = (await this.#listWaiting()).filter(row => isDue(row, now))
    if (!(await this.#wakeAll(due, now))) return undefined
    // Read again: a session that could not resume may have another time now. One that is still due is retried.
    const waits = (await this.#listWaiting()).map(row => (isDue(row, now) ? RETRY_MS : (row.resumes_at ?? now) - now))
    return waits.length > 0 ? Math.min(...waits) : undefined
  }

  /** False if the waker was closed meanwhile. */
  async #wakeAll(due: readonly SessionRow[], now: number): Promise<boolean> {
    const { log, wake, hold } = this.#deps
    using _held = due.length > 1 ? hold() : undefined
    for (const row of due) {
      if (this.closed) return false
      log.info({ session: row.id, waited_ms: now - (row.ended_at ?? now) }, 'its time has come')
      crashPoint('wake.before-resume')
      await wake(row)
    }
    return true
  }

  async #listWaiting(): Promise<SessionRow[]> {
    const { store } = this.#deps
    const held = new Set((await store.gates.list()).filter(gate => gate.held).map(({ account }) => account))
    const isHeld = ({ account, held_at }: SessionRow) =>
      held_at !== null || held.has(EVERY_ACCOUNT) || (account !== null && held.has(account))
    return (await store.sessions.waiting()).filter(row => !isHeld(row))
  }
}

/** A session that ended in the future was recorded before the clock was set back: its time no longer counts. */
function isDue({ resumes_at, ended_at }: SessionRow, now: number): boolean {
  return (resumes_at ?? now) <= now || (ended_at ?? now) > now + CLOCK_TOLERANCE_MS
}

/**
 * Ends the waits whose cause is over before their time: an allowance that is no longer nearly used up, because the person has changed the
 * settings or a window was renewed early, a day's budget that was raised, and hours that were taken back or changed. Such a session is
 * due at once, and the account that its own level has closed is open again.
 */
export async function endWaits(
  waiting: readonly SessionRow[],
  { accounts, envOf }: { accounts: Accounts; envOf(session: string): Record<string, string> },
  supervisor: SupervisorContext,
): Promise<void> {
  const { store, clock } = supervisor.deps
  const now = clock.now()
  for (const row of waiting) {
    const waitsForQuota = row.status_reason?.startsWith(NEARLY_USED_UP)
    const waitsForDay = row.status_reason?.startsWith(DAY_IS_SPENT)
    const waitsForHours = row.status_reason?.includes(GOES_ON_IN_HOURS) && (await accounts.admits({ row })).open
    if (isDue(row, now) || !(waitsForQuota || waitsForDay || waitsForHours)) continue
    try {
      const { quota, budgets, consent } = await prepareResumed(row, envOf(row.id), supervisor)
      const isOver = waitsForQuota
        ? (await accounts.level({ row, settings: { quota } })).level !== 'critical'
        : waitsForDay
          ? !findOverrun(await readSpendingTotals(row, supervisor.deps), budgets)
          : nextAllowedTime(now, consent) === now
      if (!isOver) continue
      await store.transaction(async tx => {
        if (!(await isStillWaiting(row, store, tx))) return
        if (waitsForQuota && row.account !== null) await accounts.openWhenEased(row.account, tx)
        await store.sessions.update(row.id, { resumes_at: now }, tx)
      })
    } catch (error) {
      supervisor.log.debug({ session: row.id, error }, 'what it waits for could not be looked at')
    }
  }
}

/** Lets the session of a task go on that waited because the task's budget was spent: a person has changed it. Never throws. */
export async function goOnWithBudget(
  task: string,
  resume: (row: SessionRow, reason: string) => Promise<unknown>,
  { deps, log }: SupervisorContext,
): Promise<void> {
  const { tasks, sessions, runs } = deps.store
  try {
    const found = await tasks.get(task)
    const row = found?.session_id == null ? undefined : await sessions.get(found.session_id)
    if (row?.ended_as !== 'paused' || !row.status_reason?.startsWith(TASK_IS_SPENT)) return
    // What a person has paused or holds goes on when they say so, and meets the new budget then.
    const run = found?.run_id == null ? undefined : await runs.get(found.run_id)
    if (run?.state === 'paused' || row.held_at !== null) return
    await resume(row, "its task's budget was changed").catch(async error => {
      const isPassing = error instanceof AppError && ['budget_spent', 'daemon_stopping'].includes(error.code)
      if (!isPassing) await recordWakeFailure(row, error, deps)
    })
  } catch (error) {
    log.warn({ task, error }, 'its new budget could not be looked at')
  }
}

export interface WakeOptions {
  env: Record<string, string>
  /** Returns why nothing may start now, or undefined. */
  mayStart: (() => string | undefined) | undefined
  resume(reason: string): Promise<unknown>
}

/** Resumes a session whose time has come. A problem is written to its row, so that it is not tried again and again. */
export async function wakeSession(
  row: SessionRow,
  { env, mayStart, resume }: WakeOptions,
  supervisor: SupervisorContext,
): Promise<void> {
  const isLive = () => supervisor.sessions.get(row.id) !== undefined
  // The session stays due and is tried again in seconds: nothing is written to a full disk.
  if (isLive() || mayStart?.() !== undefined) return
  try {
    // Imported on use: most sessions have one agent.
    const { reconsider } = await import('./failover.ts')
    const current = await reconsider(row, env, supervisor)
    if (await reschedule(current, env, supervisor)) return
    if (isLive()) return // a person was quicker: the other waiting sessions are not delayed by that
    await resume(describeReason(row))
  } catch (error) {
    if (error instanceof AppError && error.code === 'daemon_stopping') return
    supervisor.log.warn({ session: row.id, error }, 'could not go on by itself')
    await recordWakeFailure(row, error, supervisor.deps)
  }
}

function describeReason(row: SessionRow): string {
  if (wasCutOff(row)) return 'the daemon is back'
  return row.options.landing?.told === undefined ? 'its time has come' : 'its work was sent back to it'
}

/** Whether the session waited for nothing but a daemon. */
function wasCutOff({ status_reason }: SessionRow): boolean {
  return status_reason === CUT_OFF || status_reason === INTERRUPTED
}

/** The release of a hold pokes the waker; this check is for a release that got lost. */
const HELD_CHECK_MS = 10 * 60_000

/**
 * Gives a due session another time, or none, if it may not resume now: a newer limit has closed its account for longer, a person
 * holds the account, or the person did not agree to this hour (the daemon was not running in time, or the settings have changed).
 * Nothing starts then. Returns true if the session must keep waiting.
 */
export async function reschedule(
  row: SessionRow,
  env: Record<string, string>,
  supervisor: SupervisorContext,
): Promise<boolean> {
  const { accounts, clock, store } = supervisor.deps
  const admission = await accounts.admits({ row })
  const now = clock.now()
  const opensAt = admission.open ? now : await staggerResumes(store, admission.gate, row)
  const at = !admission.open && admission.why === 'held' ? now + HELD_CHECK_MS : opensAt
  const needsConsent = row.retries === 0 && !(await waitsForMending(row, admission, store))
  const resumes_at = needsConsent ? await consentedTime(row, env, { supervisor, at }) : at
  if (resumes_at === now) return false
  const next = `go on with: pcc resume ${row.id}${await terminalNote(row)}`
  const stays = resumes_at === null && { status_reason: `${row.status_reason}; ${next}` }
  const isMoved = resumes_at !== null && resumes_at !== at && !row.status_reason?.includes(GOES_ON_IN_HOURS)
  const moved = isMoved && { status_reason: [row.status_reason, GOES_ON_IN_HOURS].filter(Boolean).join('; ') }
  // If the clock was set back, the end is in the future: it is set to now, or the session would always be due.
  const ended = row.ended_at !== null && row.ended_at > now && { ended_at: now }
  await store.transaction(async tx => {
    if (!(await isStillWaiting(row, store, tx))) return
    await store.sessions.update(row.id, { resumes_at, ...stays, ...moved, ...ended }, tx)
    // An earlier event says that the session resumes by itself: people who watch it must see that it does not.
    const text = `It does not go on by itself, as its settings say; ${next}`
    if (stays) await tx.append([{ actor: 'daemon', subject: row.id, kind: 'session.noted', body: { text } }])
  })
  return true
}

/**
 * Whether a session waits for a login or credit. A try of those needs nobody's consent, nor does going on once they are mended: another
 * session may have opened the account meanwhile, so the ending of this one says what it waited for.
 */
async function waitsForMending(row: SessionRow, admission: AccountAdmission, store: Store): Promise<boolean> {
  const gate = row.account === null ? undefined : await store.gates.get(row.account)
  if (gate && faultOf(gate)) return true
  if (!admission.open) return false
  const [end] = await store.events({ subject: row.id, tail: 1, kinds: ['session.ended'] })
  const failure = end?.kind === 'session.ended' ? end.body.failure : undefined
  return failure !== undefined && ACCOUNT_FAULTS[failure] !== undefined
}

async function consentedTime(
  row: SessionRow,
  env: Record<string, string>,
  { supervisor, at }: { supervisor: SupervisorContext; at: number },
): Promise<number | null> {
  const { consent } = await prepareResumed(row, env, supervisor)
  return nextAllowedTime(at, consent)
}

/**
 * Records that a due session could not be started (its project is gone, its login is another one): it is not tried again and
 * again, and a person is told. A session that a person stopped or resumed in the same moment is left to them.
 */
export async function recordWakeFailure(row: SessionRow, error: unknown, deps: SessionDeps): Promise<void> {
  const { store } = deps
  const message = `could not go on by itself: ${messageOf(error)}`
  const reason = `${message}\nGo on with: pcc resume ${row.id}${await terminalNote(row)}`
  await store.transaction(async tx => {
    if (!(await isStillWaiting(row, store, tx))) return
    await store.sessions.update(row.id, { resumes_at: null, ended_as: 'paused', status_reason: reason }, tx)
    await openEscalations(deps).record(errorRow({ kind: 'other', message }, row, message), tx)
    await tx.append([{ actor: 'daemon', subject: row.id, kind: 'session.ended', body: { status: 'paused', reason } }])
  })
}

/**
 * Whether the agent's stored login was written since the account was closed and tried last: the person has logged in again, so the account can be
 * tried at once. One `stat`; the content is never read. A login that is not in a file is found by the tries alone.
 */
export async function hasNewLogin(
  gate: AccountGate,
  waiting: readonly SessionRow[],
  envOf: (session: string) => Record<string, string>,
): Promise<boolean> {
  const rows = waiting.filter(({ account }) => account === gate.account)
  const [row] = rows
  if (!row || faultOf(gate) !== 'login' || gate.closed_at === null) return false
  const vendor = vendorOf(chosenAgent(row).kind)
  const folder = loginFolder(vendor, envOf(row.id))
  const stats = folder === undefined ? undefined : await stat(join(folder, vendor.login.file)).catch(() => undefined)
  const tried = Math.max(gate.closed_at, ...rows.map(({ ended_at }) => ended_at ?? 0))
  return stats !== undefined && stats.mtimeMs > tried
}
