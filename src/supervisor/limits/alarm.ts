/** However long the wait is: the clock may be set, or the machine may have slept. */
const LONGEST_SLEEP_MS = 15_000
const SHORTEST_SLEEP_MS = 100

export interface AlarmDeps {
  /** Does what is due, and gives the time until something is again; nothing where nothing waits. */
  look(): Promise<number | undefined>
  failed(error: unknown): void
}

/** Looks when it is poked and when something is due, one look at a time. What it looks for stands in rows. */
export class Alarm {
  readonly #deps: AlarmDeps
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #again = false
  #closed = false

  constructor(deps: AlarmDeps) {
    this.#deps = deps
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Something about the times has changed, or may have. */
  poke(): void {
    if (this.#closed) return
    this.#again = true
    this.#looking ??= this.#lookWhilePoked().finally(() => {
      this.#looking = undefined
    })
  }

  /** Resolves when the look at hand is done. */
  async looked(): Promise<void> {
    await this.#looking
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
        this.#arm(await this.#deps.look())
      } catch (error) {
        this.#deps.failed(error)
        this.#arm(LONGEST_SLEEP_MS)
      }
    }
  }

  #arm(waitMs: number | undefined): void {
    clearTimeout(this.#timer)
    if (this.#closed || waitMs === undefined) return
    const sleepMs = Math.min(LONGEST_SLEEP_MS, Math.max(SHORTEST_SLEEP_MS, waitMs))
    this.#timer = setTimeout(() => this.poke(), sleepMs).unref()
  }
}

/** Taking up twenty sessions takes half a second; whoever is slower than this holds nobody up. */
const LONGEST_MS = 1_500

/**
 * Whether agents may be started now. After a restart many sessions are taken up at once, and the first agents to start up
 * would leave the daemon no processor to take up the rest: they are started together when all have been.
 */
export class StartBarrier {
  #free: Promise<void> = Promise.resolve()

  /** Nothing is started until this is disposed of, or a while has passed. */
  hold(): Disposable {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, LONGEST_MS).unref()
    this.#free = promise
    return {
      [Symbol.dispose]: () => {
        clearTimeout(timer)
        resolve()
      },
    }
  }

  /** Resolves when an agent may be started. */
  free(): Promise<void> {
    return this.#free
  }
}
