import type { FeaturePlace, WorkPhase } from '../../domain/features/feature.ts'
import type { OpenSession } from '../../domain/session.ts'
import { AGENT_TOOL_NAMES, type AgentToolName } from '../../domain/tools/agent-tools.ts'

/** To look and not to touch: what is written in the end, we write. */
const READING = ['Read', 'Grep', 'Glob']

const OF_PHASE: Record<WorkPhase, { tools: string[]; ownTools: readonly AgentToolName[] }> = {
  interview: { tools: [...READING, 'AskUserQuestion'], ownTools: ['ask_human', 'search'] },
  spec: { tools: READING, ownTools: ['search'] },
  plan: { tools: READING, ownTools: ['search'] },
  tasks: { tools: READING, ownTools: ['add_task', 'add_dependency', 'search'] },
}

/** The tools of a session: all there are for work; for a feature those that read, and no server of anybody else. */
export function toolsFor(feature: FeaturePlace | undefined): Pick<OpenSession, 'tools' | 'ownTools' | 'strictMcp'> {
  return feature ? { ...OF_PHASE[feature.phase], strictMcp: true } : { ownTools: AGENT_TOOL_NAMES }
}
