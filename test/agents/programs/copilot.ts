import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bareEnv } from '../../support/world.ts'

/** The whole environment of a Copilot CLI that talks to the simulator and to nothing else. It needs no login with a model of one's own. */
export function copilotEnv(home: string, url: string, login: 'key' | 'none' = 'key'): Record<string, string> {
  return {
    ...bareEnv(home),
    // At its first start it unpacks 235 MB: once for all tests.
    XDG_CACHE_HOME: join(tmpdir(), 'pcc-copilot-cache'),
    COPILOT_OFFLINE: 'true',
    COPILOT_AUTO_UPDATE: 'false',
    ...(login === 'key' && {
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_TYPE: 'anthropic',
      COPILOT_PROVIDER_API_KEY: 'fake-key-0000',
      COPILOT_MODEL: 'claude-sonnet-4.6',
    }),
  }
}
