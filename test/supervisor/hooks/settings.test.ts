import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readHookSettings } from '../../../src/supervisor/hooks/hook-settings.ts'
import { openHookWorld } from './hook-world.ts'

test('hooks.high is what the person set; a project may only make it stricter', async t => {
  const world = openHookWorld(t)
  const high = async () => (await readHookSettings(world.context())).high
  assert.equal(await high(), 'deny')
  world.write('.perpetualcc.toml', 'hooks.high = "ask"\n')
  assert.equal(await high(), 'deny')
  world.write('.perpetualcc.toml', 'hooks.high = "deny"\n')
  world.configure('hooks.high = "ask"\n')
  assert.equal(await high(), 'deny')
  world.write('.perpetualcc.toml', '')
  assert.equal(await high(), 'ask')
})

test("a variable of the agent's environment changes no setting of its hooks: a project can set it", async t => {
  const world = openHookWorld(t)
  const env = { ...world.context().env, PCC_HOOKS_HIGH: 'ask', PCC_HOOKS_GATES: 'off' }
  const { high, gates } = await readHookSettings(world.context({ env }))
  assert.equal(high, 'deny')
  assert.equal(gates?.profile, 'quick')
})
