import { nextAllowedTime } from '../../agents/limits/resume-times.ts'
import type { Clock } from '../../base/clock.ts'
import { crashPoint } from '../../base/crash-point.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { EVERY_ACCOUNT } from '../../domain/limit.ts'
import { openEscalations } from '../../human/escalations.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { prepareResumed, type SupervisorContext } from '../context.ts'
import type { SessionDeps } from '../session/context.ts'
import { errorRow } from '../session/endings.ts'
import { INTERRUPTED } from '../session/recover.ts'
import { CUT_OFF, isStillWaiting } from '../session/settle.ts'
import { terminalNote } from '../session/terminal.ts'
import { staggerResumes } from './accounts.ts'
import { Alarm } from './alarm.ts'

/** What could not go on is tried again after so long. */
const STILL_DUE_MS = 15_000
/** Clocks are put right by some seconds all the time, which is nothing to act on. */
const SET_BACK_MS = 60_000

export interface WakerDeps {
  store: Store
  clock: Clock
  log: Log
  /** Makes a session go on; whatever it meets is its own to settle. */
  wake(row: SessionRow): Promise<void>
  /** Lets no agent start until several have been made to go on. */
  hold(): Disposable
}

/**
 * Makes sessions go on whose time has come. The times stand in their rows, so nothing is lost with this process; with no
 * row that waits it does nothing at all.
 */
export class Waker extends Alarm {
  readonly #deps: WakerDeps

  constructor(deps: WakerDeps) {
    const failed = (error: unknown) => deps.log.error({ error }, 'could not look for sessions that wait')
    super({ look: () => this.#look(), failed })
    this.#deps = deps
  }

  async #look(): Promise<number | undefined> {
    const now = this.#deps.clock.now()
    const due = (await this.#waiting()).filter(row => isDue(row, now))
    if (!(await this.#wakeAll(due, now))) return undefined
    // Read once more: one that could not go on has another time now. One that is still due is looked at again.
    const waits = (await this.#waiting()).map(row => (isDue(row, now) ? STILL_DUE_MS : (row.resumes_at ?? now) - now))
    return waits.length > 0 ? Math.min(...waits) : undefined
  }

  /** False where it was closed meanwhile. */
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

  async #waiting(): Promise<SessionRow[]> {
    const { store } = this.#deps
    const held = new Set((await store.gates.list()).filter(gate => gate.held).map(({ account }) => account))
    const isHeld = ({ account, held_at }: SessionRow) =>
      held_at !== null || held.has(EVERY_ACCOUNT) || (account !== null && held.has(account))
    return (await store.sessions.waiting()).filter(row => !isHeld(row))
  }
}

/** A row that ended in the future was written before the clock was set back: its time means nothing any more. */
function isDue({ resumes_at, ended_at }: SessionRow, now: number): boolean {
  return (resumes_at ?? now) <= now || (ended_at ?? now) > now + SET_BACK_MS
}

export interface WakeOptions {
  env: Record<string, string>
  /** Why nothing may start now, if so. */
  mayStart: (() => string | undefined) | undefined
  resume(reason: string): Promise<unknown>
}

/** Its time has come. What stands in the way is written into its row, so that it is not tried again and again. */
export async function wakeSession(
  row: SessionRow,
  { env, mayStart, resume }: WakeOptions,
  supervisor: SupervisorContext,
): Promise<void> {
  const isTaken = () => supervisor.sessions.get(row.id) !== undefined
  // It stays due, and is looked at again in seconds: nothing is written to a disk that is full.
  if (isTaken() || mayStart?.() !== undefined) return
  try {
    // Imported on use: most sessions have one agent.
    const { reconsider } = await import('./failover.ts')
    const now = await reconsider(row, env, supervisor)
    if (await reschedule(now, env, supervisor)) return
    if (isTaken()) return // a person was quicker; nobody else who waits waits for that
    await resume(whyNow(row))
  } catch (error) {
    if (error instanceof AppError && error.code === 'daemon_stopping') return
    supervisor.log.warn({ session: row.id, error }, 'could not go on by itself')
    await recordWakeFailure(row, error, supervisor.deps)
  }
}

function whyNow(row: SessionRow): string {
  if (wasCutOff(row)) return 'the daemon is back'
  return row.options.landing?.told === undefined ? 'its time has come' : 'its work was sent back to it'
}

/** It waited for nothing but for a daemon. */
function wasCutOff({ status_reason }: SessionRow): boolean {
  return status_reason === CUT_OFF || status_reason === INTERRUPTED
}

/** A hold is let go by a person, who pokes us; this is for the one whose word was lost. */
const LOOK_AGAIN_MS = 10 * 60_000

/**
 * Its time has come, but its account is shut, by a longer limit that was met since or by a person, or it is not an hour that
 * the person agreed to: the daemon was not there in time, or the settings have changed. Then it gets another time, or none,
 * and nothing is started. True where it must wait on.
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
  const at = !admission.open && admission.why === 'held' ? now + LOOK_AGAIN_MS : opensAt
  // A try after a failure is nothing that anybody has to agree to.
  const resumes_at = row.retries === 0 ? await consentedTime(row, env, { supervisor, at }) : at
  if (resumes_at === now) return false
  const next = `go on with: pcc resume ${row.id}${await terminalNote(row)}`
  const told = resumes_at === null && { status_reason: `${row.status_reason}; ${next}` }
  // A clock that was set back leaves its end in the future: it is told by the clock of now, or it would always be due.
  const ended = row.ended_at !== null && row.ended_at > now && { ended_at: now }
  await store.transaction(async tx => {
    if (!(await isStillWaiting(row, store, tx))) return
    await store.sessions.update(row.id, { resumes_at, ...told, ...ended }, tx)
    // Its log says that it goes on by itself: whoever watches it must hear that it does not.
    const text = `It does not go on by itself, as its settings say; ${next}`
    if (told) await tx.append([{ actor: 'daemon', subject: row.id, kind: 'session.noted', body: { text } }])
  })
  return true
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
 * A session whose time has come could not be started (its project is gone, its login is another one): it is not tried again
 * and again, and a person hears of it. One that a person stopped or took up in the same moment is theirs.
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
