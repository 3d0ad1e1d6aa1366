import type { InvariantName } from '../invariants/violation.ts'
import type { RoundPlan } from '../plan/plan-round.ts'

/** One change of the source, located by the name of its function, because lines move and names seldom do. */
export interface Patch {
  file: string
  /** A function, constant or method at the top level of the file: `recover`, `WAITS_MS`, `Accounts.admits`. */
  symbol: string
  /** A text that occurs in it exactly once. */
  find: string
  put: string
}

/** A mistake that a careless engineer could make, and the invariants that must catch it. */
export interface Plant {
  id: string
  /** The effect that somebody would notice, in a few words. */
  hurts: string
  /** Any of these invariants catches it; other violations are not caused by it. */
  breaks: readonly InvariantName[]
  patches: readonly Patch[]
  /** A round in which it can show; seeds differ at least in their times. */
  round(seed: number): RoundPlan
}
