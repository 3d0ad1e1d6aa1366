import type { Clock } from '../../base/clock.ts'
import { crashPoint } from '../../base/crash-point.ts'
import type { Log } from '../../base/log.ts'
import { EVERY_ACCOUNT } from '../../domain/account/limit.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'

/** However long the wait is: the clock may be set, or the machine may have slept. */
const LONGEST_SLEEP_MS = 15_000
const SHORTEST_SLEEP_MS = 100
/** Clocks are put right by some seconds all the time, which is nothing to act on. */
const SET_BACK_MS = 60_000

export interface WakerParts {
  store: Store
  clock: Clock
  log: Log
  /** Makes a session go on; whatever it meets is its own to settle. */
  wake(row: SessionRow): Promise<void>
}

/**
 * Makes sessions go on whose time has come. The times stand in their rows, so nothing is lost with this process; with no
 * row that waits it does nothing at all.
 */
export class Waker {
  readonly #parts: WakerParts
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #again = false
  #closed = false

  constructor(parts: WakerParts) {
    this.#parts = parts
  }

  /** Something about the times has changed, or may have. */
  poke(): void {
    if (this.#closed) return
    this.#again = true
    this.#looking ??= this.#lookWhilePoked().finally(() => {
      this.#looking = undefined
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  async #lookWhilePoked(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false
      try {
        await this.#look()
      } catch (error) {
        this.#parts.log.error({ error }, 'could not look for sessions that wait')
        this.#arm(LONGEST_SLEEP_MS)
      }
    }
  }

  async #look(): Promise<void> {
    const { clock, log, wake } = this.#parts
    const now = clock.now()
    for (const row of await this.#waiting()) {
      if (this.#closed) return
      if (!isDue(row, now)) continue
      log.info({ session: row.id, waited_ms: now - (row.ended_at ?? now) }, 'its time has come')
      crashPoint('wake.before-resume')
      await wake(row)
    }
    // Read once more: one that could not go on has another time now. One that is still due is looked at again.
    const waits = (await this.#waiting()).map(row =>
      isDue(row, now) ? LONGEST_SLEEP_MS : (row.resumes_at ?? now) - now,
    )
    clearTimeout(this.#timer)
    if (waits.length > 0) this.#arm(Math.min(...waits))
  }

  async #waiting(): Promise<SessionRow[]> {
    const { store } = this.#parts
    const held = new Set((await store.gates.list()).filter(gate => gate.held).map(({ account }) => account))
    const isHeld = ({ account, held_at }: SessionRow) =>
      held_at !== null || held.has(EVERY_ACCOUNT) || (account !== null && held.has(account))
    return (await store.sessions.waiting()).filter(row => !isHeld(row))
  }

  #arm(waitMs: number): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    const sleepMs = Math.min(LONGEST_SLEEP_MS, Math.max(SHORTEST_SLEEP_MS, waitMs))
    this.#timer = setTimeout(() => this.poke(), sleepMs).unref()
  }
}

/** A row that ended in the future was written before the clock was set back: its time means nothing any more. */
function isDue({ resumes_at, ended_at }: SessionRow, now: number): boolean {
  return (resumes_at ?? now) <= now || (ended_at ?? now) > now + SET_BACK_MS
}
