import type { InvariantName, Violation } from '../invariants/violation.ts'
import type { RoundPlan } from '../plan/plan-round.ts'
import type { RoundResult } from '../round.ts'
import type { Plant } from './plant.ts'
import type { SourceCopy } from './source-copy.ts'

export interface Caught {
  /** How many rounds it took, or how many did not see it. */
  rounds: number
  /** The promises that saw it; none where no round did. */
  by: InvariantName[]
}

interface Hunt {
  copy: SourceCopy
  /** What the rounds came to without any mistake, as far as they were played: several mistakes are looked for in the same. */
  plain: Map<string, Violation[]>
  /** The seed of the first round. */
  seed: number
  rounds: number
  /** From the checkout itself where no source is named. */
  play(plan: RoundPlan, source?: string): Promise<RoundResult>
  /** Told of every round. */
  played(result: RoundResult): void
}

/**
 * Plays rounds with a mistake in the daemon until a promise that it breaks sees it. The same round must keep that promise
 * without the mistake: what a round breaks anyway proves nothing.
 */
export async function catchPlant(plant: Plant, hunt: Hunt): Promise<Caught> {
  const { copy, seed, rounds, play, played } = hunt
  for (let nth = 1; nth <= rounds; nth++) {
    const plan = plant.round(seed + nth - 1)
    const result = await planted(plant, copy, () => play(plan, copy.root))
    played(result)
    const by = caughtBy(plant, result.violations)
    if (by.length === 0) continue
    const anyway = caughtBy(plant, await withoutIt(plan, hunt))
    const own = by.filter(name => !anyway.includes(name))
    if (own.length > 0) return { rounds: nth, by: own }
  }
  return { rounds, by: [] }
}

async function planted<T>(plant: Plant, copy: SourceCopy, work: () => Promise<T>): Promise<T> {
  using _planted = copy.plant(plant)
  return await work()
}

async function withoutIt(plan: RoundPlan, { plain, play, played }: Hunt): Promise<Violation[]> {
  const key = JSON.stringify(plan)
  const known = plain.get(key)
  if (known) return known
  const result = await play(plan)
  played(result)
  plain.set(key, result.violations)
  return result.violations
}

/** The promises by which this mistake was seen. */
export function caughtBy({ breaks }: Pick<Plant, 'breaks'>, violations: Violation[]): InvariantName[] {
  return [...new Set(violations.map(({ invariant }) => invariant))].filter(name => breaks.includes(name))
}
