import type { AgentChoice } from '../../domain/agents/choice.ts'
import { chooseAgent } from '../../domain/agents/choose.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'

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
