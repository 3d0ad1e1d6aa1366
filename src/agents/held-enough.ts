import type { AgentChoice } from '../domain/agents/choice.ts'
import type { AgentManifest } from '../domain/agents/manifest.ts'

export interface HeldBy {
  agent: AgentChoice
  manifest: Pick<AgentManifest, 'hold'>
  /** `agents.unattended`: agents that the person lets work alone, by name. */
  allowed: readonly string[]
  /** Whether an OS sandbox stands around it. */
  sandboxed: boolean
}

/** Whether an agent may work with nobody watching: it asks about every call, or something else stands between it and the machine. */
export function isHeldEnough({ agent, manifest, allowed, sandboxed }: HeldBy): boolean {
  return manifest.hold === 'every-call' || sandboxed || allowed.includes(agent.name)
}
