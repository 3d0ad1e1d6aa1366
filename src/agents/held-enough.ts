import type { AgentChoice } from '../domain/agents/choice.ts'
import { type CustomAgents, isKnownByName } from '../domain/agents/choose.ts'
import type { AgentManifest } from '../domain/agents/manifest.ts'

export interface HeldBy {
  agent: AgentChoice
  manifest: Pick<AgentManifest, 'hold'>
  /** `agents.unattended`: agents that the person lets work alone, by name. */
  allowed: readonly string[]
  /** `agents.custom`: without a kind of ours, only a name from here counts. */
  custom: CustomAgents
  /** Whether an OS sandbox stands around it. */
  sandboxed: boolean
}

/** Whether an agent may work with nobody watching: it asks about every call, or something else stands between it and the machine. */
export function isHeldEnough({ agent, manifest, allowed, custom, sandboxed }: HeldBy): boolean {
  if (manifest.hold === 'every-call' || sandboxed) return true
  return allowed.includes(agent.name) && isKnownByName(agent, custom)
}
