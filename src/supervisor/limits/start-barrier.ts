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
