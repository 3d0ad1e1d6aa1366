import { claudeAgent } from './claude.ts'
import { claudeAcpAgent } from './claude-acp.ts'
import { codexAgent } from './codex.ts'
import { copilotAgent } from './copilot.ts'
import type { AgentDefinition } from './definition.ts'
import { geminiAgent } from './gemini.ts'
import { opencodeAgent } from './opencode.ts'

/** Every agent that pcc knows, by its kind. A new agent is a file beside this one and a line here. */
const DEFINITIONS = {
  claude: claudeAgent,
  'claude-acp': claudeAcpAgent,
  gemini: geminiAgent,
  codex: codexAgent,
  opencode: opencodeAgent,
  copilot: copilotAgent,
}

export type AgentKind = keyof typeof DEFINITIONS

export const AGENTS: Readonly<Record<AgentKind, AgentDefinition>> = DEFINITIONS

export const AGENT_KINDS = Object.keys(AGENTS) as [AgentKind, ...AgentKind[]]

export const AGENT_DEFINITIONS: readonly AgentDefinition[] = Object.values(AGENTS)

/** Whether there is a definition with this name. */
export function isAgentKind(name: string): name is AgentKind {
  return Object.hasOwn(AGENTS, name)
}

/** The display name of an agent, by the name in a row. */
export function agentName(name: string): string {
  return isAgentKind(name) ? AGENTS[name].name : name
}
