import { DAY_MS } from '../../base/clock.ts'
import type { Authority, MemoryItem } from '../../domain/memory.ts'
import { betaQuantile } from './statistics.ts'

// How sure memory is of something: a Beta distribution whose evidence halves in a fixed time. Why a lower bound, and why this prior, with
// figures: docs/adr/0022-beta-with-a-lower-bound.md.

export type Belief = Pick<MemoryItem, 'alpha' | 'beta' | 'updated_at'>

/**
 * Before any evidence. Both are below one, so that most of the weight is near 0 and 1: what a person allows once they nearly always allow,
 * and the same for what they refuse.
 */
export const PRIOR = { alpha: 0.3, beta: 0.1 }

/** What one observation counts. What somebody says from outside counts nothing, for or against. */
const WEIGHTS: Record<Authority, number> = { person: 1, gate: 0.5, agent: 0.25, external: 0 }

/** The weight of an observation. Whether people allow something only people show: no agent earns its own rights by using them. */
export function weightOf(authority: Authority, eventType: string): number {
  return authority !== 'person' && eventType === 'permission' ? 0 : WEIGHTS[authority]
}

/** So much of the evidence for the other side remains after an observation of full weight: people change their minds at once, not slowly. */
const KEPT_ON_CONTRADICTION = 0.5
/** An observation that arrives late, or after one from a clock that was ahead, counts at least so much. */
const LEAST_LATE = 1 / 16

export interface Observation {
  good: boolean
  weight: number
  time: number
}

/** The belief after an observation. Those that agree may come in any order. */
export function observe(belief: Belief, { good, weight, time }: Observation, halfLifeDays: number): Belief {
  if (weight === 0) return belief
  const isLate = time < belief.updated_at
  const { alpha, beta, updated_at } = isLate ? belief : decay(belief, time, halfLifeDays)
  const counted = isLate ? weight * Math.max(LEAST_LATE, factor(updated_at - time, halfLifeDays)) : weight
  const kept = isLate ? 1 : 1 - (1 - KEPT_ON_CONTRADICTION) * weight
  const less = (value: number, prior: number) => prior + (value - prior) * kept
  return good
    ? { alpha: alpha + counted, beta: less(beta, PRIOR.beta), updated_at }
    : { alpha: less(alpha, PRIOR.alpha), beta: beta + counted, updated_at }
}

/** The belief at a later time: evidence fades, the prior stays. */
export function decay<B extends Belief>(belief: B, now: number, halfLifeDays: number): B {
  if (now <= belief.updated_at) return belief
  const left = factor(now - belief.updated_at, halfLifeDays)
  const fade = (value: number, prior: number) => prior + (value - prior) * left
  return {
    ...belief,
    alpha: fade(belief.alpha, PRIOR.alpha),
    beta: fade(belief.beta, PRIOR.beta),
    updated_at: now,
  }
}

function factor(ageMs: number, halfLifeDays: number): number {
  return 2 ** (-ageMs / (halfLifeDays * DAY_MS))
}

/** One chance in five that the truth is beyond a bound. */
const TAIL = 0.2

/** What the chance of success is at least. */
export function lowerBound({ alpha, beta }: Pick<Belief, 'alpha' | 'beta'>): number {
  return betaQuantile(TAIL, alpha, beta)
}

/** What the chance of success is at most. */
export function upperBound({ alpha, beta }: Pick<Belief, 'alpha' | 'beta'>): number {
  return betaQuantile(1 - TAIL, alpha, beta)
}

/** The mean of the belief at a time. */
export function meanAt(belief: Belief, now: number, halfLifeDays: number): number {
  const { alpha, beta } = decay(belief, now, halfLifeDays)
  return alpha / (alpha + beta)
}

/** The rule of the first design: up a little for a success, down more for a failure. */
export const SEED_START = 0.5

export function stepSeed(confidence: number, good: boolean): number {
  const next = good ? Math.min(0.99, confidence + 0.05) : Math.max(0.1, confidence - 0.1)
  return Number(next.toFixed(6))
}
