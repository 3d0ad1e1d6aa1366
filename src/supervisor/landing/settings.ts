import type { Config } from '../../domain/config/config.ts'
import { type LoadedConfig, loadConfig } from '../../domain/config/load.ts'
import { trustedFile, trustStatus } from '../../policy/trust.ts'
import type { SessionRow } from '../../store/tables.ts'
import { callersSettings } from '../settings/callers-settings.ts'
import type { PrepareParts } from '../start/preparation.ts'

/** The settings in force for the work of a session: those of the shell it was started from, as its project may tighten them. */
export async function configOf(
  { project, options }: Pick<SessionRow, 'project' | 'options'>,
  parts: Pick<PrepareParts, 'places' | 'env'>,
): Promise<Config> {
  return (await loadedFor({ project, options }, parts)).config
}

/** The same, with where each of them came from. */
export async function loadedFor(
  { project, options }: Pick<SessionRow, 'project' | 'options'>,
  parts: Pick<PrepareParts, 'places' | 'env'>,
): Promise<LoadedConfig> {
  const { places, env } = callersSettings(options, parts)
  const trusted = trustedFile(await trustStatus(places, project))
  return loadConfig({ places, env, project, trusted })
}
