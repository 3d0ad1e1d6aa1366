import type { Places } from '../base/places.ts'
import { agentEnvironment, STANDARD_AGENT_ENV } from '../domain/config/agent-env.ts'

const { statSync } = process.getBuiltinModule('node:fs')
const { join } = process.getBuiltinModule('node:path')

type Env = Record<string, string | undefined>

/** The part of the caller's environment that travels to the agent with a request. */
export async function sessionEnvironment(places: Places, env: Env): Promise<Record<string, string>> {
  return agentEnvironment(env, await patternsFor(places, env))
}

/** Settings are read only where there can be any: no config file, and no variable that could be a setting, is the standard. */
async function patternsFor(places: Places, env: Env): Promise<readonly string[]> {
  const isStandardFile = places.configFile === join(places.home, 'config.toml')
  const mayBeSet = !isStandardFile || !isAbsent(places.configFile) || Object.keys(env).some(isSettingLike)
  if (!mayBeSet) return STANDARD_AGENT_ENV
  const { loadConfig } = await import('../domain/config/load.ts')
  return (await loadConfig({ places, env })).config.agents.env
}

/** Every setting's variable has a section and a name, two words at least: PCC_HOME and PCC_CONFIG are none. */
function isSettingLike(name: string): boolean {
  return /^PCC_[^_]*_/.test(name)
}

/** One that cannot be looked at is there: reading it tells what is wrong. */
function isAbsent(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined
  } catch {
    return false
  }
}
