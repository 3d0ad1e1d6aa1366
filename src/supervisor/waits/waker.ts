import type { Clock } from '../../base/clock.ts'
import { crashPoint } from '../../base/crash-point.ts'
import type { Log } from '../../base/log.ts'
import { EVERY_ACCOUNT } from '../../domain/account/limit.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { Alarm } from './alarm.ts'

/** What could not go on is tried again after so long. */
const STILL_DUE_MS = 15_000
/** Clocks are put right by some seconds all the time, which is nothing to act on. */
const SET_BACK_MS = 60_000

export interface WakerParts {
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
  readonly #parts: WakerParts

  constructor(parts: WakerParts) {
    const failed = (error: unknown) => parts.log.error({ error }, 'could not look for sessions that wait')
    super({ look: () => this.#look(), failed })
    this.#parts = parts
  }

  async #look(): Promise<number | undefined> {
    const now = this.#parts.clock.now()
    const due = (await this.#waiting()).filter(row => isDue(row, now))
    if (!(await this.#wakeAll(due, now))) return undefined
    // Read once more: one that could not go on has another time now. One that is still due is looked at again.
    const waits = (await this.#waiting()).map(row => (isDue(row, now) ? STILL_DUE_MS : (row.resumes_at ?? now) - now))
    return waits.length > 0 ? Math.min(...waits) : undefined
  }

  /** False where it was closed meanwhile. */
  async #wakeAll(due: readonly SessionRow[], now: number): Promise<boolean> {
    const { log, wake, hold } = this.#parts
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
    const { store } = this.#parts
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
