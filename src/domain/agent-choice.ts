import * as z from 'zod'
import { AGENT_KINDS } from './agents/agent-registry.ts'
import { FAULT_NAMES } from './limit.ts'

/** The agent of a session. It is stored in the session's row, so later changes of the settings do not affect it. */
export const AgentChoice = z.strictObject({
  /** `custom`: an agent without a definition, which speaks ACP. */
  kind: z.enum([...AGENT_KINDS, 'custom']),
  /** Its kind, or its name in the settings. */
  name: z.string().min(1),
  /** The program and its arguments, if they are not the usual ones. */
  command: z.array(z.string()).min(1).optional(),
})
export type AgentChoice = z.infer<typeof AgentChoice>

/** The agent of a session if nothing else was chosen. */
export const DEFAULT_AGENT: AgentChoice = { kind: 'claude', name: 'claude' }

/** Why a task went from one agent to another. `broken`: the agent that should take it over could not start. */
export const HAND_OVER_CAUSES = ['limit', ...FAULT_NAMES, 'outage', 'cost', 'broken', 'return'] as const
export type HandOverCause = (typeof HAND_OVER_CAUSES)[number]

/** An agent that worked on the session before, with what it needs to continue its own conversation. */
export interface RestingAgent {
  choice: AgentChoice
  account: string | null
  vendor_id: string | null
  model: string | null
  left_at: number
  /** When its vendor lets it work again, if that is known. */
  until: number | null
  why: HandOverCause
}

/** The earlier agents of a session. */
export interface HandOver {
  resting: RestingAgent[]
  /** Agents that could not start here; they are not tried again. */
  broken: string[]
  /** When the last hand-over was, from which agent, and why. */
  at: number
  from: string
  why: HandOverCause
  /** The cost of the session at that time. */
  cost_usd: number
  /** For an agent that is back: when it had left. */
  away_since?: number
}

/** The names of the agents that worked in a session, in order, the current one last. An agent that was closed before it began is left out. */
export function agentsOf(agent: string, handed: Pick<HandOver, 'resting'> | undefined): string[] {
  const worked = (handed?.resting ?? []).filter(({ vendor_id }) => typeof vendor_id === 'string')
  return [...new Set([...worked.map(({ choice }) => choice.name), agent])]
}
