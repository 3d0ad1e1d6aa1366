import type { AgentChoice } from './choice.ts'

/** Why a task went from one agent to another. `broken`: the one that it was handed to could not begin. */
export type HandOverCause = 'limit' | 'outage' | 'cost' | 'broken' | 'return'

/** An agent that has worked on it and does not now: what it needs to go on in its own conversation. */
export interface RestingAgent {
  choice: AgentChoice
  account: string | null
  vendor_id: string | null
  model: string | null
  left_at: number
  /** When its vendor lets it go on, as far as that is known. */
  until: number | null
  why: HandOverCause
}

/** What a session knows of the agents that have worked on it, beside the one that does. */
export interface HandOver {
  resting: RestingAgent[]
  /** Agents that could not begin here: they are not asked again. */
  broken: string[]
  /** When the last change was, from whom, and why. */
  at: number
  from: string
  why: HandOverCause
  /** What the session had cost by then. */
  cost_usd: number
  /** With an agent that is back: when it had left. */
  away_since?: number
}
