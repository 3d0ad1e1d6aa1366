import type { AgentChoice } from '../../domain/agents/choice.ts'
import { chooseAgent } from '../../domain/agents/choose.ts'
import { malformed } from '../../domain/agents/command-words.ts'
import { environmentFor } from '../../domain/agents/vendors.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'

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
