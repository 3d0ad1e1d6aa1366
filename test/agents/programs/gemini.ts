import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bareEnv } from '../../support/world.ts'

export const GEMINI_MODEL = 'gemini-2.5-pro'

/** The environment with one try per request, as our driver sets it: by default Gemini CLI retries for minutes in silence. */
export function geminiOnceEnv(home: string, url: string): Record<string, string> {
  return geminiEnv(home, url, 'key', { maxAttempts: 1 })
}

/** The whole environment of a Gemini CLI that talks to the simulator and to nothing else. */
export function geminiEnv(
  home: string,
  url: string,
  login: 'key' | 'none' = 'key',
  more: { maxAttempts?: number } = {},
): Record<string, string> {
  const settings = {
    security: { auth: { selectedType: 'gemini-api-key' } },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false, ...more },
  }
  mkdirSync(join(home, '.gemini'), { recursive: true })
  writeFileSync(join(home, '.gemini/settings.json'), JSON.stringify(settings))
  return {
    ...bareEnv(home),
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_CLI_NO_RELAUNCH: 'true',
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    ...(login === 'key' && { GEMINI_API_KEY: 'fake-key-0000' }),
  }
}
