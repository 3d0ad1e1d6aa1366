import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { loadConfig } from '../../../src/domain/config/load.ts'
import { failoverSettings } from '../../../src/supervisor/session/settings.ts'
import { tempDir } from '../../support/world.ts'

async function orderOf(home: string, agents: string[]): Promise<string[]> {
  const env = { HOME: home, PCC_HOME: home, PCC_FAILOVER_AGENTS: agents.join(',') }
  mkdirSync(home, { recursive: true })
  const loaded = await loadConfig({ paths: appPathsFor({ env }), env, project: null })
  return failoverSettings(loaded, home).order.map(({ name }) => name)
}

test('an agent that is listed twice in the order is refused with advice, and not silently left out', async t => {
  const home = tempDir(t)
  assert.deepEqual(await orderOf(home, ['claude', 'codex', 'gemini --model a']), ['claude', 'codex', 'gemini'])
  await assert.rejects(orderOf(home, ['gemini --model a', 'gemini --model b']), {
    code: 'agent_malformed',
    message: /"gemini --model b".*is the agent "gemini --model a" once more.*\[agents\.custom\]/,
  })
})
