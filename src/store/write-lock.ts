import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Lets one writer of this process in at a time, in the order they came.
 *
 * A writer that asks again from inside its own turn would wait for itself for ever; it gets an error instead.
 */
export class WriteLock {
  readonly #waiting: (() => void)[] = []
  #busy = false
  readonly #turn = new AsyncLocalStorage<{ open: boolean }>()

  /** Runs `work` alone. */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.refuseInside()
    return this.#inTurn(work)
  }

  /** Throws when the caller stands inside a turn of its own. */
  refuseInside(): void {
    if (!this.#turn.getStore()?.open) return
    throw new Error('A write inside a transaction must be given its tx: without it, it would wait for itself for ever.')
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#busy) await new Promise<void>(resolve => this.#waiting.push(resolve))
    this.#busy = true
    const turn = { open: true }
    try {
      return await this.#turn.run(turn, work)
    } finally {
      turn.open = false
      // Who is next is in before anybody who comes now: they find it busy still.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#busy = false
    }
  }
}
