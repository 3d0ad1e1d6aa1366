import { type LoadedConfig, loadConfig } from '../domain/config/load.ts'
import { trustedFile, trustStatus } from '../policy/trust.ts'
import type { SessionEnvironment } from './session-env.ts'

/** The settings in force for a project, as the daemon will read them: what is trusted in its file counts. */
export async function loadSettings({ places, env, project }: SessionEnvironment): Promise<LoadedConfig> {
  const trust = await trustStatus(places, project)
  return loadConfig({ places, env, project, trusted: trustedFile(trust) })
}
