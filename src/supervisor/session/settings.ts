import { isAbsolute, join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError } from '../../base/errors.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import type { StartSession } from '../../domain/api.ts'
import type { Budgets } from '../../domain/budget.ts'
import { chooseAgent, malformed } from '../../domain/choose-agent.ts'
import { type LoadedConfig, loadConfig } from '../../domain/config/load.ts'
import type { Config } from '../../domain/config/settings.ts'
import { environmentFor } from '../../domain/vendors.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'

interface SettingsSource {
  paths: AppPaths
  env: Record<string, string | undefined>
}

/**
 * The settings that hold for a session are those of the shell it was started from: that shell's config file and PCC_*
 * variables. One who talks to the daemon without saying any gets the daemon's own.
 */
export function settingsOfCaller(
  { config, settings }: Pick<StartSession, 'config' | 'settings'>,
  own: SettingsSource,
): SettingsSource {
  const { paths, env } = own
  if (config && !isAbsolute(config)) {
    throw new AppError('bad_request', { route: 'POST /sessions', problem: `config: ${config} is not an absolute path` })
  }
  return {
    paths: config === undefined ? paths : { ...paths, configFile: config ?? join(paths.home, 'config.toml') },
    env: settings === undefined ? env : { HOME: env['HOME'], ...settings },
  }
}

/** The agent of a request: by flag, else as the shell, the project or the person's own settings say. */
export function agentFor(
  { agent, project }: { agent?: string | undefined; project: string },
  { config, origin }: LoadedConfig,
): AgentChoice {
  const said = agent === undefined ? config.agent.command : agent
  const by = agent === undefined ? origin('agent.command') : '--agent'
  return chooseAgent({ text: said, origin: by, custom: config.agents.custom, directory: project })
}

/** Who gives a second opinion on the work of an agent, by the settings; the agent itself has none to give. */
export function secondAgent(
  worker: AgentChoice,
  { config, origin }: LoadedConfig,
  directory: string,
): AgentChoice | undefined {
  const text = config.gates.second_opinion
  if (text === 'off') return undefined
  const { custom } = config.agents
  const second = chooseAgent({ text, origin: origin('gates.second_opinion'), custom, directory })
  return second.name === worker.name ? undefined : second
}

/** Which agents take over from one another, and when, by the settings. */
export interface FailoverSettings {
  order: AgentChoice[]
  on: readonly ('limit' | 'outage')[]
  thresholdMs: number
  costUsd: number | undefined
}

/** The order of agents, each as `--agent` would be understood. One that stands there twice is refused: none takes over from itself. */
export function failoverSettings({ config, origin }: LoadedConfig, directory: string): FailoverSettings {
  const { agents, on, after_minutes, cost_usd } = config.failover
  const custom = config.agents.custom
  const said = agents.map(text => ({ text, origin: origin('failover.agents'), custom, directory }))
  const order = said.map(chooseAgent)
  order.forEach(({ name }, at) => {
    const first = order.findIndex(one => one.name === name)
    const same = said[first]
    const again = said[at]
    if (first < at && again && same) throw malformed(again, `it is the agent "${same.text}" once more, ${TWICE}`)
  })
  return { order, on, thresholdMs: after_minutes * 60_000, costUsd: cost_usd }
}

const TWICE = 'and none takes over from itself; give one of them a name of its own under [agents.custom]'

/** Variables of other agents that may come to it, to take over or to judge: kept with the session's, and given to each only when it is its turn. */
export function failoverEnvironment(
  env: Record<string, string>,
  order: readonly AgentChoice[],
  patterns: readonly string[],
): Record<string, string> {
  return Object.assign({}, ...order.map(({ kind }) => environmentFor(kind, env, patterns)))
}

/** The bounds of a session: those of the settings, and in their place what its person said when they started it. */
export function budgetsIn({ budgets }: Config, { budget }: Pick<StartSession, 'budget'> = {}): Budgets {
  return { ...budgets, session: { ...budgets.session, ...budget } }
}

/** Money moves at the end of a turn only, unless somebody wants to know before. */
export function hasMoneyBound(budgets: Budgets): boolean {
  return Object.values(budgets).some(({ cost_usd }) => cost_usd !== undefined)
}

export interface BudgetSource {
  paths: AppPaths
  env: Record<string, string | undefined>
}

/** The bounds in force for a project, or for one of its sessions under the settings it was started with. */
export async function readBudgets(
  { project, options }: { project?: string; options?: Pick<StartSession, 'budget' | 'config' | 'settings'> },
  own: BudgetSource,
): Promise<Budgets> {
  const { paths, env } = settingsOfCaller(options ?? {}, own)
  const trust = project === undefined ? undefined : await trustStatus(paths, project).catch(() => undefined)
  // A project that is gone has no file of its own any more.
  const of = trust && { project, trusted: trustedFile(trust) }
  const { config } = await loadConfig({ paths, env, ...of })
  return budgetsIn(config, options)
}

/** From when on a session counts as running away. */
export interface GuardSettings {
  repeatedCalls: number
  noProgressRounds: number
  stallMs: number
  maxMemoryBytes: number
}

/** The bounds of the settings. */
export function guardSettings({ breakers, sessions, agents }: Config): GuardSettings {
  return {
    repeatedCalls: breakers.repeated_calls,
    noProgressRounds: breakers.no_progress_rounds,
    stallMs: sessions.stall_minutes * 60_000,
    maxMemoryBytes: agents.max_memory_mb * 1024 * 1024,
  }
}
