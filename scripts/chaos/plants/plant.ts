import type { InvariantName } from '../invariants/violation.ts'
import type { RoundPlan } from '../plan/plan-round.ts'

/** One place of the source that is changed, found by the name of what it stands in: lines move, names seldom do. */
export interface Patch {
  file: string
  /** A function, constant or method at the top level of the file: `takeLock`, `WAITS_MS`, `Waker.#look`. */
  symbol: string
  /** What stands within it, once. */
  find: string
  put: string
}

/** A mistake that a careless engineer could make, and by which promises a round must see it. */
export interface Plant {
  id: string
  /** What somebody would notice of it, in a few words. */
  hurts: string
  /** Any of these catches it; whatever else a round finds is not its doing. */
  breaks: readonly InvariantName[]
  patches: readonly Patch[]
  /** A round in which it can show; each seed differs from the others by times at least. */
  round(seed: number): RoundPlan
}
