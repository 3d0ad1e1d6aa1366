import { AGENT_KINDS, type AgentKind, type AgentManifest } from '../../domain/agents/manifest.ts'
import { claudeManifest } from './claude.ts'
import { claudeAcpManifest } from './claude-acp.ts'
import { codexManifest } from './codex.ts'
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

/** Whether there is a manifest of this name. */
export function isAgentKind(name: string): name is AgentKind {
  return (AGENT_KINDS as readonly string[]).includes(name)
}
