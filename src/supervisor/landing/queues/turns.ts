/** Lets so many in at once; the others wait in the order in which they came. */
export class Turns {
  readonly #most: number
  readonly #waiting: (() => void)[] = []
  #inside = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Resolves with a turn, which ends when it is disposed; with nothing where the signal ended the wait. */
  async take(signal: AbortSignal): Promise<Disposable | undefined> {
    if (signal.aborted) return undefined
    if (this.#inside < this.#most) this.#inside += 1
    else if (!(await this.#wait(signal))) return undefined
    return { [Symbol.dispose]: () => this.#leave() }
  }

  /** Whoever leaves hands the turn on: it is never free in between. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#inside -= 1
  }

  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise(resolve => {
      const enter = () => {
        signal.removeEventListener('abort', leave)
        resolve(true)
      }
      const leave = () => {
        const at = this.#waiting.indexOf(enter)
        if (at >= 0) this.#waiting.splice(at, 1)
        resolve(false)
      }
      this.#waiting.push(enter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }
}
