/** What one round with the model brought. */
export interface Round {
  /** A file, the plan or the outcome of a test changed. */
  changed: boolean
  /** Something was looked at, or said, that was not known before. */
  fresh: boolean
}

/** A round in which even what was looked at was known weighs as much as so many in which something new was read. */
const STALE_WEIGHT = 4

/** Sees an agent that works and gets nowhere: too many rounds without a change of a file, of the plan or of a test's outcome. */
export class Progress {
  readonly #most: number
  #weight = 0
  #rounds = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Rounds since the last change. */
  get rounds(): number {
    return this.#rounds
  }

  /** True where it is enough. */
  round({ changed, fresh }: Round): boolean {
    if (changed) {
      this.reset()
      return false
    }
    this.#rounds += 1
    this.#weight += fresh ? 1 : STALE_WEIGHT
    return this.#weight >= this.#most
  }

  /** Something changed after all, or a new task began. */
  reset(): void {
    this.#weight = 0
    this.#rounds = 0
  }
}
