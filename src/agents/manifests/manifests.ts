import { AppError } from '../../base/errors.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import { AGENT_KINDS, type AgentKind, type AgentManifest } from '../../domain/agent-manifest.ts'
import { type CustomAgents, isKnownByName } from '../../domain/choose-agent.ts'
import { claudeAcpManifest, claudeManifest } from './claude.ts'
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

/** What is known of the agent that somebody chose. */
export function findManifest({ kind, name, command }: AgentChoice): AgentManifest {
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

/**
 * An agent that nobody here has looked at: all that is known is how it is started, and that it says it speaks ACP. What it asks is
 * judged as the worst it could be; whether it asks at all, nobody can say.
 */
function customManifest(name: string, [command, ...args]: readonly [string, ...string[]]): AgentManifest {
  return {
    kind: 'custom',
    name,
    revision: 1,
    verified: [],
    speaks: 'acp',
    start: {
      command,
      args,
      env: {},
      files: {},
      model: {},
      install: 'it is yours, and its command stands in your settings or on the command line',
      serves: { files: true, terminals: true },
    },
    hold: 'observed',
    heldBy: 'nothing that is known: what it asks is judged, and it may do things without asking',
    modes: { known: [] },
    readOnly: 'every call of another tool is refused, as far as it asks',
    limits: 'an error of the turn, where it tells one',
    resume: 'resume',
    forks: true,
    tools: { nameIn: 'title', known: {} },
    departs: {
      'turn.every-call-asked': 'reads-run',
      'tools.done': 'none',
      'tools.refused': 'none',
      'tools.ask': 'none',
      'tools.park': 'none',
      warm: 'none',
    },
    quirks: [],
  }
}

export interface UnattendedCheck {
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
export function canRunUnattended({ agent, manifest, allowed, custom, sandboxed }: UnattendedCheck): boolean {
  if (manifest.hold === 'every-call' || sandboxed) return true
  return allowed.includes(agent.name) && isKnownByName(agent, custom)
}

/** An agent whose program cannot be started, by its name and with how to get it. */
export function agentMissingError(
  { name, start }: Pick<AgentManifest, 'name' | 'start'>,
  problem: string,
  cause?: unknown,
): AppError<'agent_missing'> {
  return new AppError('agent_missing', { agent: name, problem, install: start.install }, cause)
}
