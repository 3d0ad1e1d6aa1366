import type { AgentChoice } from '../../domain/agents/choice.ts'
import { AGENT_KINDS, type AgentKind, type AgentManifest } from '../../domain/agents/manifest.ts'
import { claudeManifest } from './claude.ts'
import { claudeAcpManifest } from './claude-acp.ts'
import { codexManifest } from './codex.ts'
import { customManifest } from './custom.ts'
import { geminiManifest } from './gemini.ts'
import { opencodeManifest } from './opencode.ts'

/** What is known of every kind of agent. */
export const MANIFESTS: Record<AgentKind, AgentManifest> = {
  claude: claudeManifest,
  'claude-acp': claudeAcpManifest,
  gemini: geminiManifest,
  codex: codexManifest,
  opencode: opencodeManifest,
}

/** What is known of the agent that somebody chose. */
export function manifestOf({ kind, name, command }: AgentChoice): AgentManifest {
  if (kind !== 'custom') return MANIFESTS[kind]
  const [program = name, ...args] = command ?? []
  return customManifest(name, [program, ...args])
}

/** What people call an agent, by the name that a row holds. */
export function agentName(name: string): string {
  return isAgentKind(name) ? MANIFESTS[name].name : name
}

/** Whether there is a manifest of this name. */
export function isAgentKind(name: string): name is AgentKind {
  return (AGENT_KINDS as readonly string[]).includes(name)
}
