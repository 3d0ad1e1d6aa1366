/**
 * Tells waiting followers that there may be new events: at once for appends of this process, and by one slow look for
 * all followers together for those of other processes. Nobody waits: no timer runs.
 */
export class Wake {
  readonly #newestId: () => Promise<number>
  readonly #pollMs: number
  readonly #waiting = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined
  #count = 0
  #newest = 0
  closed = false

  constructor(newestId: () => Promise<number>, pollMs: number) {
    this.#newestId = newestId
    this.#pollMs = pollMs
  }

  /** Rises with every ring: a follower compares it before it waits, so that no ring is missed. */
  get count(): number {
    return this.#count
  }

  ring(): void {
    this.#count++
    for (const wake of this.#waiting) wake()
  }

  /** Waits for a ring after `count`, or the signal. */
  async wait(count: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#count !== count || this.closed || signal?.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.add(resolve)
    signal?.addEventListener('abort', () => resolve(), { once: true })
    this.#plan()
    await promise
    this.#waiting.delete(resolve)
    if (this.#waiting.size === 0) this.#stop()
  }

  close(): void {
    this.closed = true
    this.#stop()
    this.ring()
  }

  #plan(): void {
    this.#timer ??= setTimeout(() => this.#look(), this.#pollMs).unref()
  }

  #stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  async #look(): Promise<void> {
    this.#timer = undefined
    const newest = await this.#newestId().catch(() => this.#newest) // the follower's own read meets the same error and tells it
    if (newest !== this.#newest) this.ring()
    this.#newest = newest
    if (this.#waiting.size > 0 && !this.closed) this.#plan()
  }
}
