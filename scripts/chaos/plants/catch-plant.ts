import type { InvariantName, Violation } from '../invariants/violation.ts'
import type { RoundPlan } from '../plan/plan-round.ts'
import type { RoundResult } from '../round.ts'
import type { Plant } from './plant.ts'
import type { SourceCopy } from './source-copy.ts'

export interface Caught {
  /** How many rounds it took, or how many missed it. */
  rounds: number
  /** The invariants that caught it; empty if none did. */
  by: InvariantName[]
}

interface Hunt {
  copy: SourceCopy
  /** The violations of rounds without a mistake, cached because several mistakes use the same rounds. */
  plain: Map<string, Violation[]>
  /** The seed of the first round. */
  seed: number
  rounds: number
  /** Plays a round, from the checkout itself if no source is given. */
  play(plan: RoundPlan, source?: string): Promise<RoundResult>
  /** Called after every round. */
  played(result: RoundResult): void
}

/**
 * Plays rounds with a mistake in the daemon until one of its invariants is violated. The same round must keep that invariant
 * without the mistake, because a violation that happens anyway proves nothing.
 */
export async function catchPlant(plant: Plant, hunt: Hunt): Promise<Caught> {
  const { copy, seed, rounds, play, played } = hunt
  for (let nth = 1; nth <= rounds; nth++) {
    const plan = plant.round(seed + nth - 1)
    const result = await planted(plant, copy, () => play(plan, copy.root))
    played(result)
    const by = caughtBy(plant, result.violations)
    if (by.length === 0) continue
    const anyway = caughtBy(plant, await playWithout(plan, hunt))
    const own = by.filter(name => !anyway.includes(name))
    if (own.length > 0) return { rounds: nth, by: own }
  }
  return { rounds, by: [] }
}

async function planted<T>(plant: Plant, copy: SourceCopy, work: () => Promise<T>): Promise<T> {
  using _planted = copy.plant(plant)
  return await work()
}

async function playWithout(plan: RoundPlan, { plain, play, played }: Hunt): Promise<Violation[]> {
  const key = JSON.stringify(plan)
  const cached = plain.get(key)
  if (cached) return cached
  const result = await play(plan)
  played(result)
  plain.set(key, result.violations)
  return result.violations
}

/** The invariants that caught this mistake. */
export function caughtBy({ breaks }: Pick<Plant, 'breaks'>, violations: Violation[]): InvariantName[] {
  return [...new Set(violations.map(({ invariant }) => invariant))].filter(name => breaks.includes(name))
}
