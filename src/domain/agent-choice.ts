import * as z from 'zod'
import { AGENT_KINDS } from './agent-manifest.ts'

/** Which agent does the work of a session. It stands in the session's row: what settings say later changes nothing for it. */
export const AgentChoice = z.strictObject({
  /** `custom`: one that no manifest describes, which speaks ACP. */
  kind: z.enum([...AGENT_KINDS, 'custom']),
  /** What people call it: its kind, or the name it has in the settings. */
  name: z.string().min(1),
  /** The program and the words behind it, where that is not the usual one. */
  command: z.array(z.string()).min(1).optional(),
})
export type AgentChoice = z.infer<typeof AgentChoice>

/** What a session gets where nobody has said anything. */
export const DEFAULT_AGENT: AgentChoice = { kind: 'claude', name: 'claude' }

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

/** Who worked in a session, by name: those that left in the order in which they did, and last the one that has it. One that was shut before it began did not. */
export function agentsOf(agent: string, handed: Pick<HandOver, 'resting'> | undefined): string[] {
  const worked = (handed?.resting ?? []).filter(({ vendor_id }) => typeof vendor_id === 'string')
  return [...new Set([...worked.map(({ choice }) => choice.name), agent])]
}
