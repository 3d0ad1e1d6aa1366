import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Lets one writer of this process in at a time, in the order they came.
 *
 * A writer that asks again from inside its own turn would wait for itself for ever; it gets an error instead.
 */
export class WriteLock {
  #tail: Promise<unknown> | undefined
  readonly #turn = new AsyncLocalStorage<{ open: boolean }>()

  /** Runs `work` alone. */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.refuseInside()
    const turn = { open: true }
    const begin = () => this.#turn.run(turn, work)
    const result = (this.#tail ? this.#tail.then(begin) : begin()).finally(() => {
      turn.open = false
    })
    const settled = result.then(ignore, ignore).then(() => {
      if (this.#tail === settled) this.#tail = undefined
    })
    this.#tail = settled
    return result
  }

  /** Throws when the caller stands inside a turn of its own. */
  refuseInside(): void {
    if (!this.#turn.getStore()?.open) return
    throw new Error('A write inside a transaction must be given its tx: without it, it would wait for itself for ever.')
  }
}

function ignore(): void {
  // the outcome belongs to the caller of run; the queue only needs the end
}
