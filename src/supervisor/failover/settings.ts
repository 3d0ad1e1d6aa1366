import type { AgentChoice } from '../../domain/agents/choice.ts'
import { chooseAgent } from '../../domain/agents/choose.ts'
import { environmentFor } from '../../domain/agents/vendors.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'

/** Which agents take over from one another, and when, by the settings. */
export interface FailoverSettings {
  order: AgentChoice[]
  on: readonly ('limit' | 'outage')[]
  thresholdMs: number
  costUsd: number | undefined
}

/** The order of agents, each as `--agent` would be understood; the second of one name is left out. */
export function failoverSettings({ config, origin }: LoadedConfig, directory: string): FailoverSettings {
  const { agents, on, after_minutes, cost_usd } = config.failover
  const custom = config.agents.custom
  const chosen = agents.map(text => chooseAgent({ text, origin: origin('failover.agents'), custom, directory }))
  const order = chosen.filter((one, at) => chosen.findIndex(({ name }) => name === one.name) === at)
  return { order, on, thresholdMs: after_minutes * 60_000, costUsd: cost_usd }
}

/** Variables of other agents that may come to it, to take over or to judge: kept with the session's, and given to each only when it is its turn. */
export function failoverEnvironment(
  env: Record<string, string>,
  order: readonly AgentChoice[],
  patterns: readonly string[],
): Record<string, string> {
  return Object.assign({}, ...order.map(({ kind }) => environmentFor(kind, env, patterns)))
}
