import type { HandOverCause } from '../../domain/agents/hand-over.ts'

/** What is known of one agent of the order. */
export interface AgentFacts {
  name: string
  /** When its vendor lets it work: a time that is over is now. Undefined where a person holds it. */
  opensAt: number | undefined
  /** Why it may not be used at all: it is not installed, not held enough, or could not begin here. */
  refused?: string | undefined
  /** When it last stopped working on this task; nothing where it never did. */
  leftAt?: number | undefined
  /** It has a conversation about the task, to which it can go back. */
  talks?: boolean | undefined
}

/** How the agent at work stands. */
export type Standing =
  | { why: 'limit'; until: number | undefined }
  | { why: 'outage'; tries: number }
  | { why: 'cost'; spent: number }
  /** It was handed the task and could not begin. */
  | { why: 'broken' }
  /** Nothing is in its way. */
  | { why: 'works' }

export interface FailoverFacts {
  now: number
  /** In the order of the settings. */
  order: AgentFacts[]
  current: string
  standing: Standing
  /** When the task last changed hands. */
  changedAt: number | undefined
  thresholdMs: number
  on: readonly string[]
  costUsd: number | undefined
}

export type Choice =
  | { go: string; cause: HandOverCause; at: number }
  /** `lookAt`: when another agent could take it, where that is known. */
  | { stay: string; lookAt?: number | undefined }

/** Failures in a row, each after the agent's own retries, that make an outage. */
const OUTAGE_TRIES = 2

/**
 * Which agent goes on with a task, and why. Pure. An agent that may not be used is never chosen; one that was left is not gone back to
 * before the threshold has passed, so that nothing goes to and fro; one that comes earlier in the order, and has a conversation about the
 * task, gets it back when its vendor lets it.
 */
export function chooseNext(facts: FailoverFacts): Choice {
  const { order, current, standing, now } = facts
  const place = order.findIndex(({ name }) => name === current)
  if (place < 0 || order.length < 2) return { stay: 'its agent is not one of several in failover.agents' }
  const others = order.filter(({ name }) => name !== current)
  const back = order.slice(0, place).find(agent => agent.talks && readyAt(agent, facts) <= now)
  if (back && standing.why !== 'broken' && standing.why !== 'cost' && hasStayed(facts))
    return { go: back.name, cause: 'return', at: now }
  if (!leaves(facts)) return { stay: `${current} goes on` }
  const candidates = standing.why === 'cost' ? order.slice(place + 1) : others
  const free = candidates.find(agent => readyAt(agent, facts) <= now)
  if (free) return { go: free.name, cause: causeOf(standing), at: now }
  if (standing.why === 'broken') return home(others, facts)
  const lookAt = Math.min(...candidates.map(agent => readyAt(agent, facts)))
  return { stay: 'nobody else can take it now', ...(Number.isFinite(lookAt) && { lookAt }) }
}

/** Whether the agent at work gives the task up. */
function leaves({ standing, thresholdMs, on, now, costUsd }: FailoverFacts): boolean {
  switch (standing.why) {
    case 'limit':
      return on.includes('limit') && (standing.until === undefined || standing.until - now > thresholdMs)
    case 'outage':
      return on.includes('outage') && standing.tries >= OUTAGE_TRIES
    case 'cost':
      return costUsd !== undefined && standing.spent >= costUsd
    case 'broken':
      return true
    case 'works':
      return false
  }
}

/** From when on an agent could take the task. */
function readyAt({ opensAt, refused, leftAt }: AgentFacts, { thresholdMs }: FailoverFacts): number {
  if (refused !== undefined || opensAt === undefined) return Number.POSITIVE_INFINITY
  return leftAt === undefined ? opensAt : Math.max(opensAt, leftAt + thresholdMs)
}

function hasStayed({ changedAt, thresholdMs, now }: FailoverFacts): boolean {
  return changedAt === undefined || now - changedAt >= thresholdMs
}

/** Nobody is free, and the one that has it cannot begin: it goes back to wait with one that can, once its time has come. */
function home(others: AgentFacts[], facts: FailoverFacts): Choice {
  const known = others.filter(agent => agent.leftAt !== undefined && Number.isFinite(readyAt(agent, facts)))
  const first = known.toSorted((a, b) => readyAt(a, facts) - readyAt(b, facts))[0]
  return first
    ? { go: first.name, cause: 'broken', at: Math.max(facts.now, readyAt(first, facts)) }
    : { stay: 'nobody else can take it' }
}

function causeOf(standing: Standing): HandOverCause {
  return standing.why === 'works' ? 'return' : standing.why
}
