import type { Clock } from '../../base/clock.ts'

const LONGEST_SLEEP_MS = 15_000
const SHORTEST_SLEEP_MS = 100

export interface LooksParts {
  clock: Clock
  /** Makes what steps can be made; a time comes back where it has to be looked at again by the clock alone. */
  work(id: string, closing: AbortSignal): Promise<number | undefined>
  /** It could not be done. Never throws. */
  failed(id: string, error: unknown): Promise<void>
}

/** Looks at things by their id: at each once at a time, and once more when somebody asked meanwhile. */
export class Looks {
  readonly #parts: LooksParts
  readonly #looking = new Map<string, Promise<void>>()
  readonly #again = new Set<string>()
  readonly #timers = new Map<string, NodeJS.Timeout>()
  readonly #closing = new AbortController()

  constructor(parts: LooksParts) {
    this.#parts = parts
  }

  look(id: string): void {
    if (this.#closing.signal.aborted) return
    this.#again.add(id)
    if (this.#looking.has(id)) return
    const done = this.#lookWhileAsked(id).finally(() => {
      this.#looking.delete(id)
      // Asked for after the last look and before this: nobody else would see it.
      if (this.#again.has(id)) this.look(id)
    })
    this.#looking.set(id, done)
  }

  /** Resolves when the look that is under way is over. */
  async done(id: string): Promise<void> {
    await this.#looking.get(id)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    for (const timer of this.#timers.values()) clearTimeout(timer)
    await Promise.all(this.#looking.values())
  }

  async #lookWhileAsked(id: string): Promise<void> {
    while (this.#again.delete(id) && !this.#closing.signal.aborted) {
      try {
        this.#lookAt(id, await this.#parts.work(id, this.#closing.signal))
      } catch (error) {
        await this.#parts.failed(id, error)
        return
      }
    }
  }

  /** The clock may be set, and the machine may sleep: it is looked at now and then whatever the time says. */
  #lookAt(id: string, at: number | undefined): void {
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
    if (at === undefined || this.#closing.signal.aborted) return
    const waitMs = Math.min(LONGEST_SLEEP_MS, Math.max(SHORTEST_SLEEP_MS, at - this.#parts.clock.now()))
    this.#timers.set(id, setTimeout(() => this.look(id), waitMs).unref())
  }
}
