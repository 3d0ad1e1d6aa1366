import type { AppPaths } from '../../base/app-paths.ts'
import { type LoadedConfig, loadConfig } from '../../domain/config/load.ts'
import type { Config } from '../../domain/config/settings.ts'
import { type MemorySettings, readMemorySettings } from '../../human/precedents.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'
import { type GateSettings, readGateSettings } from '../../workspace/verify/gate-settings.ts'

/** The settings of the hooks in one project. */
export interface HookSettings {
  /** What becomes of a HIGH risk call. */
  high: 'deny' | 'ask'
  /** Undefined if no gates run when an agent stops. */
  gates: GateSettings | undefined
  /** Keys of the project's own gates that nobody has agreed to. */
  withheld: string[]
  stopBlocks: number
  context: boolean
  delegation: Config['hooks']['delegation']
  /** How remembered answers are used; the same settings as for sessions of pcc. */
  answers: { enabled: boolean; threshold: number; memory: MemorySettings }
  config: Config
  /** The same with the origin of each setting. */
  loaded: LoadedConfig
}

/**
 * Reads the settings for a hook. The project's file counts as everywhere: it may tighten, and more once it is trusted. Variables
 * such as `PCC_HOOKS_GATES` do not count: a project's settings for its agent can set variables of the agent and its hooks.
 */
export async function readHookSettings({
  paths,
  env,
  project,
}: {
  paths: AppPaths
  env: Record<string, string | undefined>
  project: string
}): Promise<HookSettings> {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PCC_')))
  const trusted = trustedFile(await trustStatus(paths, project))
  const loaded = await loadConfig({ paths, env: own, project, trusted })
  const { config, untrusted } = loaded
  const { hooks, brain, memory } = config
  return {
    high: hooks.high,
    gates: hooks.gates === 'off' ? undefined : { ...readGateSettings(config), profile: hooks.gates },
    withheld: untrusted.filter(key => key.startsWith('gates.')),
    stopBlocks: hooks.stop_blocks,
    context: hooks.context,
    delegation: hooks.delegation,
    answers: {
      enabled: brain.auto_answer,
      threshold: brain.confidence_threshold,
      memory: readMemorySettings(memory),
    },
    config,
    loaded,
  }
}
