import { access, constants, stat } from 'node:fs/promises'
import { AppError, messageOf } from '../../base/errors.ts'
import { describeSearchPath, findProgram } from '../../base/process/find-program.ts'
import { quoteForShell } from '../../base/words.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import { agentEnvironment } from '../../domain/agent-env.ts'
import type { AgentManifest } from '../../domain/agent-manifest.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'
import type { SecretSource } from '../../domain/config/secret-references.ts'
import type { TrustStatus } from '../../policy/trust/trust.ts'
import type { LoadedRules } from '../../policy/verdict/load-rules.ts'
import { findIdleRules } from '../../policy/verdict/rules.ts'
import { type SandboxPlan, sandboxNotes } from '../../workspace/command/plan-sandbox.ts'

/**
 * The variables that the settings give this agent from stored secrets. An agent without the key that it was meant to have is not
 * started: it would fail, or use another account.
 */
export async function secretEnvironment(
  { name }: Pick<AgentChoice, 'name'>,
  { agents }: Pick<LoadedConfig['config'], 'agents'>,
  secrets: SecretSource,
): Promise<Record<string, string>> {
  const env: Record<string, string> = {}
  for (const given of agents.secret_env) {
    const [, agent, variable = '', secret = ''] = /^([^:]+):([^=]+)=(.+)$/.exec(given) ?? []
    if (agent !== name) continue
    const found = await secrets.lookUp(secret)
    if ('problem' in found)
      throw new AppError('secret_for_agent', { agent: name, variable, name: secret, problem: found.problem })
    env[variable] = found.value
  }
  // Without the variables that no agent ever gets, such as LD_PRELOAD.
  return agentEnvironment(env, ['*'])
}

interface ChosenAgent {
  agent: AgentChoice
  manifest: AgentManifest
  env: Record<string, string>
}

/**
 * Refuses an agent whose program is not installed before anything is started: the error can say how to install it, or which
 * setting names it.
 */
export async function checkProgram(
  { config, origin }: LoadedConfig,
  { agent, manifest, env }: ChosenAgent,
): Promise<void> {
  if (manifest.speaks === 'sdk' && !agent.command) return checkPath(config.agents.path, origin('agents.path'))
  const command = agent.command?.[0] ?? manifest.start.command
  if (findProgram(command, env)) return
  const { name, start } = manifest
  const where = describeSearchPath(command, env)
  throw new AppError('agent_not_installed', { agent: name, command, where, install: start.install })
}

async function checkPath(path: string | undefined, origin: string): Promise<void> {
  if (path === undefined) return
  const problem = await access(path, constants.X_OK)
    .then(() => stat(path))
    .then(stats => (stats.isFile() ? undefined : 'it is not a file'), messageOf)
  if (problem !== undefined) throw new AppError('agent_path_wrong', { path, origin, problem })
}

interface Sources {
  /** The daemon's environment, which may hold keys that the settings name. */
  daemon: Record<string, string | undefined>
  session: Record<string, string>
  /** `agents.env`. */
  patterns: readonly string[]
}

/**
 * The environment of the brains. A brain uses the login of the session it judges for: variables that an agent may get never
 * come from the daemon, which may belong to another account.
 */
export function brainEnvironment({ daemon, session, patterns }: Sources): Record<string, string | undefined> {
  const both = { ...daemon, ...session }
  const forAgents = agentEnvironment(both, patterns)
  return Object.fromEntries(Object.entries(both).filter(([name]) => name in session || !(name in forAgents)))
}

interface NoteSources {
  loaded: LoadedConfig
  rules: LoadedRules
  /** The note about the agent's own settings that the project brings. */
  sources: string | undefined
  trust?: Pick<TrustStatus, 'git' | 'project'>
  allowedTools: string[]
  sandbox: SandboxPlan
}

/** Notes for the person about a session that starts: what is left out until the project is trusted, and what has no effect. */
export function startNotes({ loaded, rules, sources, trust, allowedTools, sandbox }: NoteSources): string[] {
  return [
    ...untrustedNote(loaded),
    ...(sources === undefined ? [] : [sources]),
    ...(trust?.git
      ? [
          `Git runs nothing of this for the agent until you agree to it: ${trust.git.join(', ')}. To agree: pcc trust ${quoteForShell(trust.project)}`,
        ]
      : []),
    ...rulesNotes(rules),
    ...idleNote(allowedTools),
    ...sandboxNotes(sandbox),
  ]
}

function untrustedNote({ projectFile, untrusted }: LoadedConfig): string[] {
  if (untrusted.length === 0) return []
  return [`${projectFile}: left out until you agree to it with pcc trust: ${untrusted.join(', ')}`]
}

function rulesNotes({ problem, waiting }: LoadedRules): string[] {
  return [
    ...(problem ? [`${problem.message} ${problem.next}`] : []),
    ...(waiting.length > 0
      ? ["The project's own allow rules are left out until you agree to them with pcc trust."]
      : []),
  ]
}

function idleNote(rules: string[]): string[] {
  const idle = findIdleRules(rules)
  if (idle.length === 0) return []
  return [
    `--allowed-tools ${idle.join(', ')} lets nothing through: name the commands, as in Bash(npm test) or Bash(npm run:*).`,
  ]
}
