/** The clock may be set and the machine may sleep, so no wait is longer than this. */
const LONGEST_WAIT_MS = 15_000
const SHORTEST_WAIT_MS = 100

export interface KeyedWorkerDeps<Key> {
  /** Does what can be done now. Returns after how many milliseconds to try again if nobody wakes it before; undefined: never. */
  work(key: Key, signal: AbortSignal): Promise<number | undefined>
  /** Called when `work` throws. Returns what `work` would. Must not throw. */
  failed(key: Key, error: unknown): Promise<number | undefined> | number | undefined
}

interface Running {
  done: Promise<void>
  ending: AbortController
}

/** Runs `work` for each key that is woken, once at a time, and once more if it was woken meanwhile. The work itself is stored in rows. */
export class KeyedWorker<Key = string> {
  readonly #deps: KeyedWorkerDeps<Key>
  readonly #idOf: (key: Key) => string
  readonly #woken = new Map<string, Key>()
  readonly #running = new Map<string, Running>()
  readonly #timers = new Map<string, NodeJS.Timeout>()
  readonly #closing = new AbortController()

  constructor(deps: KeyedWorkerDeps<Key>, idOf: (key: Key) => string = String) {
    this.#deps = deps
    this.#idOf = idOf
  }

  /** Aborted when the worker is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Something about a key has changed. Resolves when it has been worked on since; never rejects. */
  wake(key: Key): Promise<void> {
    if (this.#closing.signal.aborted) return Promise.resolve()
    const id = this.#idOf(key)
    this.#woken.set(id, key)
    const running = this.#running.get(id)
    if (running) return running.done
    const ending = new AbortController()
    const done = this.#workWhileWoken(id, AbortSignal.any([ending.signal, this.#closing.signal]))
    this.#running.set(id, { done, ending })
    return done
  }

  /** Resolves when the work on a key that is under way is over. */
  async idle(key: Key): Promise<void> {
    await this.#running.get(this.#idOf(key))?.done
  }

  /** Aborts the work on a key that is under way. */
  abort(key: Key): void {
    this.#running.get(this.#idOf(key))?.ending.abort()
  }

  /** Aborts the work on a key, forgets that it was woken, and waits until the work is over. */
  async end(key: Key): Promise<void> {
    this.#woken.delete(this.#idOf(key))
    this.abort(key)
    await this.idle(key)
  }

  /** Begins nothing more, aborts what is under way, and waits for it. */
  async close(): Promise<void> {
    this.#closing.abort()
    for (const timer of this.#timers.values()) clearTimeout(timer)
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }

  async #workWhileWoken(id: string, signal: AbortSignal): Promise<void> {
    await undefined // so that `wake` has stored this promise before any work can end
    while (this.#woken.has(id) && !signal.aborted) {
      const key = this.#woken.get(id) as Key
      this.#woken.delete(id)
      this.#wakeAfter(key, await this.#workOnce(key, signal))
    }
    // In one step with the last look at `#woken`: nobody can wake it in between and be overlooked.
    this.#running.delete(id)
    if (this.#woken.has(id)) void this.wake(this.#woken.get(id) as Key)
  }

  async #workOnce(key: Key, signal: AbortSignal): Promise<number | undefined> {
    try {
      return await this.#deps.work(key, signal)
    } catch (error) {
      return signal.aborted ? undefined : await this.#deps.failed(key, error)
    }
  }

  #wakeAfter(key: Key, waitMs: number | undefined): void {
    const id = this.#idOf(key)
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
    if (waitMs === undefined || this.#closing.signal.aborted) return
    const sleepMs = Math.min(LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, waitMs))
    this.#timers.set(id, setTimeout(() => void this.wake(key), sleepMs).unref())
  }
}

export interface AlarmDeps {
  /** Does what is due. Returns after how many milliseconds something is due again; undefined: nothing waits. */
  look(): Promise<number | undefined>
  failed(error: unknown): void
}

/** A worker with a single key: it looks when it is poked and when something is due. A failure is tried again. */
export class Alarm {
  readonly #worker: KeyedWorker<''>

  constructor({ look, failed }: AlarmDeps) {
    const again = (error: unknown) => {
      failed(error)
      return LONGEST_WAIT_MS
    }
    this.#worker = new KeyedWorker({ work: look, failed: (_, error) => again(error) })
  }

  get closed(): boolean {
    return this.#worker.closing.aborted
  }

  /** Something may be due. Resolves when it was looked for since. */
  poke(): Promise<void> {
    return this.#worker.wake('')
  }

  /** Resolves when the look that is under way is over. */
  looked(): Promise<void> {
    return this.#worker.idle('')
  }

  close(): Promise<void> {
    return this.#worker.close()
  }
}
