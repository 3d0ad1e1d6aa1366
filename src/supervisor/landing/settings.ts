import type { Config } from '../../domain/config/config.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { trustedFile, trustStatus } from '../../policy/trust.ts'
import type { SessionRow } from '../../store/tables.ts'
import { callersSettings } from '../settings/callers-settings.ts'
import type { PrepareParts } from '../start/prepare.ts'

/** The settings in force for the work of a session: those of the shell it was started from, as its project may tighten them. */
export async function configOf(
  { project, options }: Pick<SessionRow, 'project' | 'options'>,
  parts: Pick<PrepareParts, 'places' | 'env'>,
): Promise<Config> {
  const { places, env } = callersSettings(options, parts)
  const trusted = trustedFile(await trustStatus(places, project))
  return (await loadConfig({ places, env, project, trusted })).config
}
