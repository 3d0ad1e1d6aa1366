import { type Amounts, MEASURES, type Measure, NOTHING_SPENT } from '../../domain/budget/budget.ts'

/** More than this between two looks is a machine that slept, or a clock that was set: nobody worked. */
const SLEPT_MS = 90_000
const MINUTE_MS = 60_000

/**
 * Counts what one life of a session spends, so that each piece of it is booked once. An agent tells totals since it was
 * opened, and corrects them: the meter keeps the newest word and what of it was booked. Time is counted only while
 * `running` is true.
 */
export class Meter {
  #seen: Amounts
  #booked: Amounts
  #at: number | undefined

  constructor(turnsBefore: number) {
    this.#seen = { ...NOTHING_SPENT, turns: turnsBefore }
    this.#booked = this.#seen
  }

  /** The agent's newest totals. */
  saw(totals: Partial<Omit<Amounts, 'wall_minutes'>>): void {
    this.#seen = { ...this.#seen, ...totals }
  }

  /** Lets the time since the last look count, or not: nobody works while a person is asked. */
  passes(now: number, running: boolean): void {
    const since = this.#at === undefined ? 0 : now - this.#at
    if (running && since > 0 && since <= SLEPT_MS) {
      this.#seen = { ...this.#seen, wall_minutes: this.#seen.wall_minutes + since / MINUTE_MS }
    }
    this.#at = now
  }

  /**
   * What is to be booked now; undefined where there is nothing, or so little time and nothing else that it can wait. `undo`
   * where it could not be booked.
   */
  take({ all = false } = {}): { amounts: Amounts; undo(): void } | undefined {
    const amounts = each(measure => this.#seen[measure] - this.#booked[measure])
    const { wall_minutes, ...rest } = amounts
    const isStill = Object.values(rest).every(amount => Math.abs(amount) < TINY)
    if (isStill && (wall_minutes < TINY || (!all && wall_minutes < CAN_WAIT_MINUTES))) return undefined
    this.#booked = this.#seen
    return { amounts, undo: () => this.#owe(amounts) }
  }

  /** Subtracted, not set back: others may have been booked meanwhile. */
  #owe(amounts: Amounts): void {
    this.#booked = each(measure => this.#booked[measure] - amounts[measure])
  }
}

/** Below this it is a rounding error. */
const TINY = 1e-9
/** Time passes with every event: it is written down with something else, or when this much has come together. */
const CAN_WAIT_MINUTES = 0.5

function each(value: (measure: Measure) => number): Amounts {
  return Object.fromEntries(MEASURES.map(measure => [measure, value(measure)])) as Amounts
}
