import type { Places } from '../base/places.ts'
import { agentEnvironment } from '../domain/config/agent-env.ts'
import { loadConfig } from '../domain/config/load.ts'

/** The part of the caller's environment that travels to the agent with a request. */
export async function sessionEnvironment(
  places: Places,
  env: Record<string, string | undefined>,
): Promise<Record<string, string>> {
  const { config } = await loadConfig({ places, env })
  return agentEnvironment(env, config.agents.env)
}
