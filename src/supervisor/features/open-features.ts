import { loadConfig } from '../../domain/config/load.ts'
import { trustedFile, trustStatus } from '../../policy/trust.ts'
import type { Floor } from '../floor.ts'
import { callersSettings } from '../settings/callers-settings.ts'
import type { PrepareParts } from '../start/preparation.ts'
import { Features } from './features.ts'
import type { FeaturesParts } from './parts.ts'

/** Features over the sessions of a floor. */
export function openFeatures(
  floor: Floor,
  options: PrepareParts & { agentEnv: Record<string, string> },
  steering: Pick<FeaturesParts, 'start' | 'resume' | 'stop'>,
): Features {
  const { kept, log } = floor
  const { store, tasks, clock } = floor.parts
  return new Features({
    ...{ store, tasks, clock, log, kept, agentEnv: options.agentEnv, ...steering },
    async keepsEnvironment({ project, ...request }) {
      const { places, env } = callersSettings(request, options)
      const trusted = trustedFile(await trustStatus(places, project))
      return (await loadConfig({ places, env, project, trusted })).config.sessions.keep_environment
    },
  })
}
