import { existsSync } from 'node:fs'
import type { AppPaths } from '../base/app-paths.ts'
import { type LoadedConfig, loadConfig } from '../domain/config/load.ts'
import { trustedFile, trustStatus } from '../policy/trust/trust.ts'

export interface SettingsFor {
  paths: AppPaths
  env: Record<string, string | undefined>
  /** The project's directory. Its own settings file counts as far as it is trusted. */
  project: string
  /** The value of `--agent`, if it was given. */
  agent?: string | undefined
  /** The settings, where they were loaded already. */
  loaded?: LoadedConfig | undefined
}

/**
 * Loads the settings in force for a project as the daemon will read them: of the project's own file only the trusted part
 * counts. A directory that does not exist has no file; the code that needs the directory reports that it is missing.
 */
export async function loadSettings({ paths, env, project, loaded }: SettingsFor): Promise<LoadedConfig> {
  if (loaded) return loaded
  if (!existsSync(project)) return loadConfig({ paths, env, project: null })
  const trust = await trustStatus(paths, project)
  return loadConfig({ paths, env, project, trusted: trustedFile(trust) })
}
