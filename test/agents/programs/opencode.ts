import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bareEnv } from '../../support/world.ts'
import { pinned } from './programs.ts'

/** opencode fetches this into its settings folder at every start if it is missing. */
const PLUGIN = { '@opencode-ai/plugin': pinned('opencode-ai') }

/** The whole environment of an opencode that talks to the simulator and to nothing else. */
export function opencodeEnv(home: string, url: string, login: 'key' | 'none' = 'key'): Record<string, string> {
  const options = { baseURL: `${url}/v1`, ...(login === 'key' && { apiKey: 'fake-key-0000' }) }
  const config = { model: 'anthropic/claude-sonnet-4-5', autoupdate: false, provider: { anthropic: { options } } }
  const folder = join(home, '.config/opencode')
  // Placed as if it had been fetched: nothing comes from outside, and no start waits for it.
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ dependencies: PLUGIN }))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: { '': { dependencies: PLUGIN } } }))
  writeFileSync(join(folder, 'opencode.json'), JSON.stringify(config))
  return {
    ...bareEnv(home),
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
  }
}
