import type { MemoryItem } from '../../domain/memory.ts'
import type { LearningRule } from '../../domain/option-values.ts'
import type { Risk } from '../../domain/session.ts'
import { decay, lowerBound, PRIOR, upperBound } from './belief.ts'
import { knob, type PolicyValues } from './policy.ts'
import { matchesTrigger } from './triggers.ts'

export interface AdviceQuestion {
  /** The kind of event: `permission`, `question`, `command`. */
  event_type: string
  /** The normalised request, or the question. */
  text: string
  /** Set for a request. */
  risk?: Risk | undefined
  now: number
  policy: PolicyValues
  /** `memory.learning`. */
  learning: LearningRule
}

/** What experience says to an event. */
export interface LearnedAdvice {
  /** What was done, or answered; for permissions `allow` or `deny`. */
  action: string
  confidence: number
  reason: string
  items: string[]
}

/** The procedures for a kind of event that are in force, those that are most surely right first. */
export function getProcedures(items: readonly MemoryItem[], eventType: string): MemoryItem[] {
  return items
    .filter(item => item.kind === 'procedure' && item.type === eventType && item.ended_at === null)
    .filter(({ authority }) => authority !== 'external')
    .toSorted((a, b) => b.alpha / (b.alpha + b.beta) - a.alpha / (a.alpha + a.beta) || b.updated_at - a.updated_at)
}

/**
 * What an event would be answered by experience; undefined if experience is not sure, and always for HIGH. For permissions the caller passes
 * it on as a precedent, so that the policy still decides first.
 */
export function advise(items: readonly MemoryItem[], question: AdviceQuestion): LearnedAdvice | undefined {
  if (question.risk === 'HIGH') return undefined
  const matching = getProcedures(items, question.event_type).filter(
    ({ trigger }) => trigger !== null && matchesTrigger(trigger, question.text),
  )
  // What an agent says is worth reading, but nobody acts on it unasked.
  const known = matching.filter(({ authority }) => authority !== 'agent')
  if (known.length === 0) return undefined
  return question.event_type === 'permission' ? adviseOnPermission(known, question) : adviseAction(known, question)
}

function adviseOnPermission(known: readonly MemoryItem[], question: AdviceQuestion): LearnedAdvice | undefined {
  const counted = known.map(item => ({ ...item, ...evidenceAt(item, question) }))
  const sides = counted.map(({ action, for: good, against }) =>
    action === 'deny' ? { allowed: against, refused: good } : { allowed: good, refused: against },
  )
  const allowed = sides.reduce((sum, side) => sum + side.allowed, 0)
  const refused = sides.reduce((sum, side) => sum + side.refused, 0)
  const belief = { alpha: PRIOR.alpha + allowed, beta: PRIOR.beta + refused }
  const bound = knob(question.policy, 'advice.bound')
  const items = known.map(({ id }) => id)
  const times = (item: MemoryItem, side: 'allow' | 'deny') =>
    (item.action === 'deny') === (side === 'deny') ? item.successes : item.failures
  const said = (side: 'allow' | 'deny') => known.reduce((sum, item) => sum + times(item, side), 0)
  const reason = `people allowed such requests ${said('allow')} times and refused them ${said('deny')} times`
  if (question.learning === 'seed') {
    const confidence = Math.max(...known.map(item => (item.action === 'deny' ? 0 : item.seed_confidence)))
    return confidence >= SEED_BOUND ? { action: 'allow', confidence, reason, items } : undefined
  }
  const low = allowed >= LEAST_EVIDENCE ? lowerBound(belief) : 0
  if (low >= bound) return { action: 'allow', confidence: low, reason, items }
  const high = refused >= LEAST_REFUSED ? upperBound(belief) : 1
  return high <= 1 - DENY_BOUND
    ? { action: 'deny', confidence: 1 - high, reason: `${reason}; go on without it`, items }
    : undefined
}

/** The first design had no bound of its own; this is the usual confidence for an answer without a person. */
const SEED_BOUND = 0.7
/** A wrong refusal costs less than a wrong approval: the agent goes on without, and the person sees it in the report. */
const DENY_BOUND = 0.7
/** Two answers of a person, a little faded. One answer counts for the very same request only, and that is a remembered answer. */
export const LEAST_EVIDENCE = 1.2
/** Three answers: whoever is refused without being asked cannot show that it is different this time. */
const LEAST_REFUSED = 2.2

/** The evidence for and against an item at a time, without the prior. */
function evidenceAt(item: MemoryItem, { now, policy }: AdviceQuestion): { for: number; against: number } {
  const { alpha, beta } = decay(item, now, knob(policy, 'advice.half_life_days'))
  return { for: Math.max(0, alpha - PRIOR.alpha), against: Math.max(0, beta - PRIOR.beta) }
}

/** The action that is most surely right, if it is sure enough. */
function adviseAction(known: readonly MemoryItem[], question: AdviceQuestion): LearnedAdvice | undefined {
  const scored = known.flatMap(item => {
    const { id, action, successes, failures, seed_confidence } = item
    if (action === null) return []
    const evidence = evidenceAt(item, question)
    const confidence =
      question.learning === 'seed'
        ? seed_confidence
        : lowerBound({ alpha: PRIOR.alpha + evidence.for, beta: PRIOR.beta + evidence.against })
    const isSure =
      question.learning === 'seed' ? confidence >= SEED_BOUND : confidence >= knob(question.policy, 'advice.bound')
    if (!isSure || evidence.for < LEAST_EVIDENCE) return []
    return [{ action, confidence, reason: `worked ${successes} of ${successes + failures} times`, items: [id] }]
  })
  return scored.toSorted((a, b) => b.confidence - a.confidence)[0]
}
