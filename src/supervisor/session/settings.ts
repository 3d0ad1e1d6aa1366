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
 * The settings of a session are those of the shell it was started from: that shell's config file and PCC_* variables. A
 * client that sends none gets the daemon's own.
 */
export function settingsOfCaller(
  { config, settings }: Pick<StartSession, 'config' | 'settings'>,
  own: SettingsSource,
): SettingsSource {
  const { paths, env } = own
  if (config && !isAbsolute(config)) {
    throw new AppError('bad_request', { problem: `The config file ${config} is not an absolute path.` })
  }
  return {
    paths: config === undefined ? paths : { ...paths, configFile: config ?? join(paths.home, 'config.toml') },
    env: settings === undefined ? env : { HOME: env['HOME'], ...settings },
  }
}

/** The agent of a request: by flag, else by the settings of the shell, the project or the person. */
export function agentFor(
  { agent, project }: { agent?: string | undefined; project: string },
  { config, origin }: LoadedConfig,
): AgentChoice {
  const text = agent === undefined ? config.agent.command : agent
  const source = agent === undefined ? origin('agent.command') : '--agent'
  return chooseAgent({ text, origin: source, custom: config.agents.custom, directory: project })
}

/** The agent that gives a second opinion on another agent's work, by the settings. An agent gives none on its own work. */
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

/** The order of agents, each read like `--agent`. An agent that is listed twice is refused: none takes over from itself. */
export function failoverSettings({ config, origin }: LoadedConfig, directory: string): FailoverSettings {
  const { agents, on, after_minutes, cost_usd } = config.failover
  const custom = config.agents.custom
  const entries = agents.map(text => ({ text, origin: origin('failover.agents'), custom, directory }))
  const order = entries.map(chooseAgent)
  order.forEach(({ name }, index) => {
    const firstIndex = order.findIndex(choice => choice.name === name)
    const first = entries[firstIndex]
    const again = entries[index]
    if (firstIndex < index && again && first)
      throw malformed(again, `it is the agent "${first.text}" once more, ${TWICE}`)
  })
  return { order, on, thresholdMs: after_minutes * 60_000, costUsd: cost_usd }
}

const TWICE = 'and none takes over from itself; give one of them a name of its own under [agents.custom]'

/**
 * Variables of other agents that may take over or give a second opinion: kept with the session's, and given to each agent
 * only on its turn.
 */
export function failoverEnvironment(
  env: Record<string, string>,
  order: readonly AgentChoice[],
  patterns: readonly string[],
): Record<string, string> {
  return Object.assign({}, ...order.map(({ kind }) => environmentFor(kind, env, patterns)))
}

/** The budgets of a session: those of the settings, replaced by what the person gave at the start. */
export function budgetsIn({ budgets }: Config, { budget }: Pick<StartSession, 'budget'> = {}): Budgets {
  return { ...budgets, session: { ...budgets.session, ...budget } }
}

/** Whether any budget is in money. Cost is reported only at the end of a turn, unless it has to be followed for such a budget. */
export function hasMoneyBound(budgets: Budgets): boolean {
  return Object.values(budgets).some(({ cost_usd }) => cost_usd !== undefined)
}

/** The budgets in force for a project, or for one of its sessions under the settings it was started with. */
export async function readBudgets(
  { project, options }: { project?: string; options?: Pick<StartSession, 'budget' | 'config' | 'settings'> },
  own: SettingsSource,
): Promise<Budgets> {
  const { paths, env } = settingsOfCaller(options ?? {}, own)
  const trust = project === undefined ? undefined : await trustStatus(paths, project).catch(() => undefined)
  // A project that is gone has no settings file of its own any more.
  const ofProject = trust && project !== undefined ? { project, trusted: trustedFile(trust) } : { project: null }
  const { config } = await loadConfig({ paths, env, ...ofProject })
  return budgetsIn(config, options)
}

/** The bounds beyond which a session counts as running away. */
export interface GuardSettings {
  repeatedCalls: number
  noProgressRounds: number
  stallMs: number
  maxMemoryBytes: number
  maxProcesses: number
}

export function guardSettings({ breakers, sessions, agents }: Config): GuardSettings {
  return {
    repeatedCalls: breakers.repeated_calls,
    noProgressRounds: breakers.no_progress_rounds,
    stallMs: sessions.stall_minutes * 60_000,
    maxMemoryBytes: agents.max_memory_mb * 1024 * 1024,
    maxProcesses: agents.max_processes,
  }
}
