import { existsSync } from 'node:fs'
import type { AppPaths } from '../base/app-paths.ts'
import { type LoadedConfig, loadConfig } from '../domain/config/load.ts'
import { trustedFile, trustStatus } from '../policy/trust/trust.ts'

export interface SettingsFor {
  paths: AppPaths
  env: Record<string, string | undefined>
  /** The project's directory: its own file may set names too, as far as it is trusted. */
  project: string
  /** `--agent`, where it was said. */
  agent?: string | undefined
}

/**
 * The settings in force for a project, as the daemon will read them: what is trusted in its file counts. A project that is
 * gone has no file; that it is gone is said by whoever needs it.
 */
export async function loadSettings({ paths, env, project }: SettingsFor): Promise<LoadedConfig> {
  if (!existsSync(project)) return loadConfig({ paths, env })
  const trust = await trustStatus(paths, project)
  return loadConfig({ paths, env, project, trusted: trustedFile(trust) })
}
