import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bareEnv } from '../../support/world.ts'

/** A model that this version of Codex knows, with `apply_patch` among its tools. */
const CODEX_MODEL = 'gpt-5.5'

/** The whole environment of a Codex that talks to the simulator and to nothing else. */
export function codexEnv(home: string, url: string, login: 'key' | 'none' = 'key'): Record<string, string> {
  const config = [
    `model = "${CODEX_MODEL}"`,
    'model_provider = "simulator"',
    'check_for_update_on_startup = false',
    '[analytics]',
    'enabled = false',
    '[model_providers.simulator]',
    'name = "simulator"',
    `base_url = "${url}/v1"`,
    'wire_api = "responses"',
    'env_key = "SIMULATOR_KEY"',
    'request_max_retries = 1',
    'stream_max_retries = 1',
  ]
  mkdirSync(join(home, '.codex'), { recursive: true })
  // Codex does not use its sandbox in a home below the folder for temporary files, and the homes of tests are there.
  const TMPDIR = join(home, 'tmp')
  mkdirSync(TMPDIR, { recursive: true })
  writeFileSync(join(home, '.codex/config.toml'), `${config.join('\n')}\n`)
  return { ...bareEnv(home), TMPDIR, ...(login === 'key' && { SIMULATOR_KEY: 'fake-key-0000' }) }
}
