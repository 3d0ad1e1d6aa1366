import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bareEnv } from '../../support/world.ts'

/** The whole environment of a Copilot CLI that talks to the simulator and to nothing else. It needs no login with a model of one's own. */
export function copilotEnv(home: string, url: string, login: 'key' | 'none' = 'key'): Record<string, string> {
  return {
    ...bareEnv(home),
    // At its first start it unpacks 235 MB: once for all tests.
    XDG_CACHE_HOME: join(tmpdir(), 'pcc-copilot-cache'),
    COPILOT_AUTO_UPDATE: 'false',
    // Without a model of one's own it would look for its vendor: it finds nobody.
    ...(login === 'none' && { HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9' }),
    ...(login === 'key' && {
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_TYPE: 'anthropic',
      COPILOT_PROVIDER_API_KEY: 'fake-key-0000',
      COPILOT_MODEL: 'claude-sonnet-4.6',
    }),
  }
}
