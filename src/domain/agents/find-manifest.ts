import { AppError } from '../../base/errors.ts'
import type { AgentChoice } from '../agent-choice.ts'
import type { AgentManifest } from '../agent-manifest.ts'
import { type CustomAgents, isKnownByName } from '../choose-agent.ts'
import { AGENTS } from './agent-registry.ts'

/** The manifest of the chosen agent. */
export function findManifest({ kind, name, command }: AgentChoice): AgentManifest {
  if (kind !== 'custom') return AGENTS[kind]
  const [program = name, ...args] = command ?? []
  return customManifest(name, [program, ...args])
}

/**
 * The manifest of an agent that we have not verified: only its command is known, and that it claims to speak ACP. Its calls are judged as
 * the worst they could be; whether it asks at all is unknown.
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
      install: 'it is your own; its command is in your settings or on the command line',
      serves: { files: true, terminals: true },
    },
    hold: 'observed',
    heldBy: 'nothing that is known: what it asks is judged, and it may do things without asking',
    modes: { known: [] },
    readOnly: 'every call of another tool is refused, as far as it asks',
    limits: 'an error of the turn, if it reports one',
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
      reuse: 'none',
    },
    quirks: [],
  }
}

export interface UnattendedCheck {
  agent: AgentChoice
  manifest: Pick<AgentManifest, 'hold'>
  /** `agents.unattended`: agents that the person lets work alone, by name. */
  allowed: readonly string[]
  /** `agents.custom`: an agent that is none of our kinds counts only if its name is here. */
  custom: CustomAgents
  /** Whether the agent runs in an OS sandbox. */
  sandboxed: boolean
}

/** Whether an agent may work with nobody watching: it asks about every call, or runs in a sandbox, or the person allows it. */
export function canRunUnattended({ agent, manifest, allowed, custom, sandboxed }: UnattendedCheck): boolean {
  if (manifest.hold === 'every-call' || sandboxed) return true
  return allowed.includes(agent.name) && isKnownByName(agent, custom)
}

/** The error for an agent whose program cannot be started, with how to install it. */
export function agentMissingError(
  { name, start }: Pick<AgentManifest, 'name' | 'start'>,
  problem: string,
  cause?: unknown,
): AppError<'agent_missing'> {
  return new AppError('agent_missing', { agent: name, problem, install: start.install }, cause)
}
