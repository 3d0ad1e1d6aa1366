/** What one round with the model brought. */
export interface Round {
  /** A file, the plan or the outcome of a test changed. */
  changed: boolean
  /** Something was looked at, or said, that was not known before. */
  fresh: boolean
  /** It waited inside of a call, for a build or between two looks. */
  waited: boolean
}

/** A round in which even what was looked at was known weighs as much as so many in which something new was read. */
const STALE_WEIGHT = 4

/** Sees an agent that works and gets nowhere: too many rounds without a change of a file, of the plan or of a test's outcome. */
export class Progress {
  readonly #most: number
  #weight = 0
  #rounds = 0
  #waited = false

  constructor(most: number) {
    this.#most = most
  }

  /** Rounds since the last change. */
  get rounds(): number {
    return this.#rounds
  }

  /** True where it is enough. */
  round({ changed, fresh, waited }: Round): boolean {
    // A look after a wait belongs to it: what it looks at takes its time, and nobody goes in circles.
    const isWait = waited || this.#waited
    this.#waited = waited
    if (changed) {
      this.reset()
      return false
    }
    this.#rounds += 1
    this.#weight += fresh || isWait ? 1 : STALE_WEIGHT
    return this.#weight >= this.#most
  }

  /** Something changed after all, or a new task began. */
  reset(): void {
    this.#weight = 0
    this.#rounds = 0
  }
}
