import { type MemoryItem, type MemoryRecord, newRecord, recordId } from '../../../src/domain/memory.ts'
import { advise } from '../../../src/memory/learn/advise.ts'
import { applyRecord, itemIdsOf } from '../../../src/memory/learn/apply-record.ts'
import { SEED_START, stepSeed } from '../../../src/memory/learn/belief.ts'
import type { PolicyValues } from '../../../src/memory/learn/policy.ts'

/**
 * A stream of decisions as a person meets them. What one kind of request is answered hides behind a chance; most kinds are nearly always
 * allowed, some nearly always refused, and a few depend on what the request says. Kinds are as frequent as words are: few come often, many come
 * once. It holds three troubles: the person's mind changes (drift), texts from outside and agents claim that something was always allowed
 * (poison), and now and then a request of a usual kind is HIGH.
 */
export interface Decision {
  time: number
  kind: number
  risk: 'MEDIUM' | 'HIGH'
  /** What the person would answer. */
  allowed: boolean
  /** How probable that was for whoever knows the person: what the oracle goes by. */
  chance: number
  /** Claims that arrive before it: somebody else's word that a kind is always allowed. */
  poison: { kind: number; authority: 'agent' | 'external' }[]
  /** Whether the person would notice and correct a wrong decision that was made without them. */
  noticed: boolean
}

/** What a decision costs, in interruptions of a person. MEDIUM can be undone, by definition: ten interruptions' worth of work. */
export const COSTS = { ask: 1, wronglyAllowed: 10, wronglyRefused: 3, highAllowed: 1000 }

const HOUR_MS = 3_600_000

export function makeStream(seed: number, length = 1200): Decision[] {
  const random = makeRandom(seed)
  const kinds = Array.from({ length: 100 }, () => {
    const nature = random()
    if (nature < 0.82) return 0.99 + 0.01 * random()
    if (nature < 0.96) return 0.02 * random()
    return 0.3 + 0.5 * random()
  })
  // Zipf: the n-th kind comes 1/n as often as the first, in an order of its own.
  const weights = kinds.map((_, at) => 1 / (at + 1))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const sums = weights.map((_, at) => weights.slice(0, at + 1).reduce((sum, weight) => sum + weight, 0))
  const pick = () => {
    const wanted = random() * total
    return sums.findIndex(sum => wanted <= sum)
  }
  const decisions: Decision[] = []
  let time = Date.UTC(2026, 0, 5)
  for (let n = 0; n < length; n += 1) {
    time += HOUR_MS * 2 * random()
    // Twice a change of policy turns some kinds round at once; single ones turn at any time.
    if (n === Math.floor(length / 3) || n === Math.floor((2 * length) / 3))
      for (const [at, chance] of kinds.entries()) if (random() < 0.05) kinds[at] = 1 - chance
    if (random() < 0.002) {
      const at = pick()
      kinds[at] = 1 - (kinds[at] ?? 0)
    }
    const kind = pick()
    const chance = kinds[kind] ?? 0
    const isHigh = random() < 0.03
    const poison =
      random() < 0.1 ? [{ kind: pick(), authority: random() < 0.5 ? ('agent' as const) : ('external' as const) }] : []
    decisions.push({
      time,
      kind,
      risk: isHigh ? 'HIGH' : 'MEDIUM',
      allowed: random() < (isHigh ? 0.3 : chance),
      chance,
      poison,
      noticed: random() < 0.8,
    })
  }
  return decisions
}

export interface StreamResult {
  /** For 100 decisions. */
  cost: number
  asked: number
  /** Decisions without the person that the person would have made otherwise, of all decisions. */
  wrong: number
  highAllowed: number
}

export interface Learner {
  /** What is done without the person; undefined asks. */
  decide(decision: Decision): 'allow' | 'deny' | undefined
  /** The person's answer, or their correction of what was decided without them. */
  learn(decision: Decision, answer: 'allow' | 'deny'): void
  /** Nobody complained about what was decided without the person. */
  unopposed?(decision: Decision, done: 'allow' | 'deny'): void
  poison?(claim: Decision['poison'][number], time: number): void
}

/** Plays a stream to somebody who learns from it. */
export function playStream(stream: readonly Decision[], learner: Learner): StreamResult {
  const sums = { cost: 0, asked: 0, wrong: 0, highAllowed: 0 }
  for (const decision of stream) {
    for (const claim of decision.poison) learner.poison?.(claim, decision.time)
    const done = learner.decide(decision)
    const right = decision.allowed ? 'allow' : 'deny'
    if (done === undefined) {
      sums.asked += 1
      sums.cost += COSTS.ask
      learner.learn(decision, right)
      continue
    }
    if (done === 'allow' && decision.risk === 'HIGH') {
      sums.highAllowed += 1
      sums.cost += COSTS.highAllowed
    }
    if (done === right) {
      learner.unopposed?.(decision, done)
      continue
    }
    sums.wrong += 1
    sums.cost += done === 'allow' ? COSTS.wronglyAllowed : COSTS.wronglyRefused
    if (decision.noticed) learner.learn(decision, right)
    else learner.unopposed?.(decision, done)
  }
  const share = 100 / stream.length
  return {
    cost: sums.cost * share,
    asked: sums.asked * share,
    wrong: sums.wrong * share,
    highAllowed: sums.highAllowed,
  }
}

/** Whoever knows what the person thinks at every moment, but not what they will say: HIGH is asked, the rest goes the cheapest way. */
export const oracle: Learner = {
  decide({ risk, chance }) {
    if (risk === 'HIGH') return undefined
    const costs = { allow: (1 - chance) * COSTS.wronglyAllowed, deny: chance * COSTS.wronglyRefused }
    const best = costs.allow < costs.deny ? 'allow' : 'deny'
    return costs[best] < COSTS.ask ? best : undefined
  },
  learn: () => undefined,
}

/** Numbers from 0 to 1, always the same for one seed (mulberry32). */
export function makeRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** The rule of the first design, with everything that it is told: it knows no authorities, so that poison counts like an answer. */
export function seedRule(): Learner {
  const confidence = new Map<number, number>()
  const step = (kind: number, good: boolean) => confidence.set(kind, stepSeed(confidence.get(kind) ?? SEED_START, good))
  return {
    decide: ({ kind, risk }) => (risk !== 'HIGH' && (confidence.get(kind) ?? SEED_START) >= 0.7 ? 'allow' : undefined),
    learn: ({ kind }, answer) => step(kind, answer === 'allow'),
    unopposed: ({ kind }) => step(kind, true),
    poison: ({ kind }) => step(kind, true),
  }
}

/** Our own reducers and advice, fed with records as the supervisor writes them. `deaf` is the same without the poison. */
export function ours({ deaf = false, policy = {} }: { deaf?: boolean; policy?: PolicyValues } = {}): Learner {
  const items = new Map<string, MemoryItem>()
  const byKind = new Map<number, MemoryItem[]>()
  let count = 0
  const record = (kind: number, time: number, fields: Pick<MemoryRecord, 'outcome' | 'authority' | 'actor'>) => {
    count += 1
    const made = newRecord({
      ...{
        id: recordId(`stream ${count}`),
        kind: 'procedure',
        scope: 'project',
        of: 'p',
        event_type: 'permission',
        time,
      },
      ...{ trigger: { kind: 'request', text: `run kind-${kind}` }, action: 'allow', ...fields },
    })
    for (const id of itemIdsOf(made)) {
      const after = applyRecord(items.get(id), made, policy, id)
      if (after) items.set(id, after)
      byKind.set(kind, after ? [after] : [])
    }
  }
  return {
    decide({ kind, risk, time }) {
      const question = { event_type: 'permission', text: `run kind-${kind}`, risk, now: time, policy } as const
      const advice = advise(byKind.get(kind) ?? [], { ...question, learning: 'beta' })
      return advice?.action as 'allow' | 'deny' | undefined
    },
    learn({ kind, time }, answer) {
      const outcome = answer === 'allow' ? 'success' : 'failure'
      record(kind, time, { outcome, authority: 'person', actor: 'person' })
    },
    poison({ kind, authority }, time) {
      if (!deaf) record(kind, time, { outcome: 'success', authority, actor: 'agent' })
    },
  }
}

/** The mean of several streams. */
export function meanResult(seeds: readonly number[], makeLearner: () => Learner): StreamResult {
  const results = seeds.map(seed => playStream(makeStream(seed), makeLearner()))
  const mean = (key: keyof StreamResult) => results.reduce((sum, result) => sum + result[key], 0) / results.length
  return { cost: mean('cost'), asked: mean('asked'), wrong: mean('wrong'), highAllowed: mean('highAllowed') }
}

/** Constants were chosen on these; figures are reported on the others. */
export const TUNING_SEEDS = Array.from({ length: 12 }, (_, n) => n + 1)
export const REPORT_SEEDS = Array.from({ length: 24 }, (_, n) => n + 101)
