import type { AgentChoice } from '../../../domain/agents/choice.ts'
import { chooseAgent } from '../../../domain/agents/choose.ts'
import type { LoadedConfig } from '../../../domain/config/load.ts'

/** The agent of a request: by flag, else as the shell, the project or the person's own settings say. */
export function agentIn(
  { agent, project }: { agent?: string | undefined; project: string },
  { config, origin }: LoadedConfig,
): AgentChoice {
  const said = agent === undefined ? config.agent.command : agent
  const by = agent === undefined ? origin('agent.command') : '--agent'
  return chooseAgent({ text: said, origin: by, custom: config.agents.custom, directory: project })
}
