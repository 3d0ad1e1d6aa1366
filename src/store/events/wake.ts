interface WaitOptions {
  signal?: AbortSignal | undefined
  alone?: boolean | undefined
}

/**
 * Tells waiting followers that there may be new events: at once for appends of this process, and by one slow look for
 * all followers together for those of other processes. While nobody waits, no timer runs.
 */
export class Wake {
  readonly #newestId: () => Promise<number>
  readonly #pollMs: number
  readonly #waiting = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined
  #count = 0
  #newest = 0
  #looking = 0
  #closed = false

  constructor(newestId: () => Promise<number>, pollMs: number) {
    this.#newestId = newestId
    this.#pollMs = pollMs
  }

  /** Rises with every ring: a follower notes it before it reads, and a ring since then ends its wait at once. */
  get count(): number {
    return this.#count
  }

  get closed(): boolean {
    return this.#closed
  }

  ring(): void {
    this.#count++
    for (const wake of this.#waiting) wake()
  }

  /** Waits for a ring after `count`, for the signal or for the end; `alone` looks for nothing that others wrote. */
  async wait(count: number, { signal, alone }: WaitOptions = {}): Promise<void> {
    if (this.#count !== count || this.#closed || signal?.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = () => resolve()
    this.#waiting.add(wake)
    signal?.addEventListener('abort', wake)
    if (!alone) {
      this.#looking++
      this.#timer ??= setInterval(() => this.#look(), this.#pollMs)
    }
    await promise
    signal?.removeEventListener('abort', wake)
    this.#waiting.delete(wake)
    if (!alone && --this.#looking === 0) this.#stop()
  }

  close(): void {
    this.#closed = true
    this.ring()
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #look(): Promise<void> {
    // An error is told by the read of each follower, which a ring brings about.
    const newest = await this.#newestId().catch(() => -1)
    if (newest !== this.#newest) this.ring()
    this.#newest = newest
  }
}
