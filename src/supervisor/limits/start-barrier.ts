/** Twenty sessions resume in half a second; agents wait no longer than this for slower ones. */
const LONGEST_MS = 1_500

/**
 * Delays the start of agents. After a restart many sessions resume at once, and the first agents would take the processor that the
 * daemon needs to resume the rest: so the agents start together when all sessions have resumed.
 */
export class StartBarrier {
  #free: Promise<void> = Promise.resolve()

  /** No agent starts until this is disposed of, or `LONGEST_MS` have passed. */
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

  /** Resolves when an agent may start. */
  free(): Promise<void> {
    return this.#free
  }
}
