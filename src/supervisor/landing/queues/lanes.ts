import { messageOf } from '../../../base/errors.ts'
import type { LandingParts, Lane } from '../parts.ts'

/** What could not go on, or was left to the clock, is looked at after so long at the latest. */
const LONGEST_SLEEP_MS = 15_000
const SHORTEST_SLEEP_MS = 100

/** The queues of targets: in each, one thing happens at a time. */
export class Lanes {
  readonly #parts: LandingParts
  readonly #closing: AbortSignal
  readonly #looking = new Map<string, Promise<void>>()
  readonly #again = new Map<string, Lane>()
  readonly #timers = new Map<string, NodeJS.Timeout>()

  constructor(parts: LandingParts, closing: AbortSignal) {
    this.#parts = parts
    this.#closing = closing
  }

  /** Something in a queue has changed. */
  look({ repository, target }: Lane): void {
    if (this.#closing.aborted) return
    const key = keyOf({ repository, target })
    this.#again.set(key, { repository, target })
    if (this.#looking.has(key)) return
    const done = this.#lookWhileAsked(key).finally(() => {
      this.#looking.delete(key)
      const again = this.#again.get(key)
      if (again) this.look(again)
    })
    this.#looking.set(key, done)
  }

  /** Resolves when what is under way in a queue is over. */
  async done(lane: Lane): Promise<void> {
    await this.#looking.get(keyOf(lane))
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    await Promise.all(this.#looking.values())
  }

  async #lookWhileAsked(key: string): Promise<void> {
    for (let lane = this.#taken(key); lane && !this.#closing.aborted; lane = this.#taken(key)) {
      try {
        const { lookAgainAt } = await this.#parts.merges.advance(lane, this.#closing)
        this.#lookAt(key, lane, lookAgainAt)
      } catch (error) {
        if (this.#closing.aborted) return
        this.#parts.floor.log.error({ ...lane, problem: messageOf(error), error }, 'the queue could not go on')
        this.#lookAt(key, lane, this.#parts.floor.parts.clock.now() + LONGEST_SLEEP_MS)
      }
      this.#parts.wake()
    }
  }

  #taken(key: string): Lane | undefined {
    const lane = this.#again.get(key)
    this.#again.delete(key)
    return lane
  }

  #lookAt(key: string, lane: Lane, at: number | undefined): void {
    clearTimeout(this.#timers.get(key))
    this.#timers.delete(key)
    if (at === undefined || this.#closing.aborted) return
    const untilMs = at - this.#parts.floor.parts.clock.now()
    const waitMs = Math.min(LONGEST_SLEEP_MS, Math.max(SHORTEST_SLEEP_MS, untilMs))
    this.#timers.set(key, setTimeout(() => this.look(lane), waitMs).unref())
  }
}

function keyOf({ repository, target }: Lane): string {
  return JSON.stringify([repository, target])
}
