import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { scriptedAgent } from './scripted-agent.ts'
import { scriptedWorld } from './scripted-world.ts'

const KEY = 'a-fake-key-of-this-test'
const SETTINGS = { PCC_BRAIN_TYPE: 'gemini', PCC_BRAIN_GEMINI_API_KEY: KEY }

test('a brain key that came from a shell is kept with the environment and not in the row, for when the session goes on', async t => {
  const agent = scriptedAgent(() => ({ asks: true }))
  const world = await scriptedWorld(t, agent)
  const open = t.mock.method(agent.driver, 'open')
  const id = await world.start('ask', { config: null, settings: SETTINGS })
  await world.ended(id, 1)
  const kept = JSON.parse(readFileSync(join(world.runDir, 'secrets', `${id}.json`), 'utf8'))
  assert.equal(kept.PCC_BRAIN_GEMINI_API_KEY, KEY)
  assert.doesNotMatch(JSON.stringify(await world.store.sessions.get(id)), new RegExp(KEY))
  assert.equal((await world.call('POST', '/escalations/1/answer', { answer: 'this', env: {} })).status, 200)
  await world.when(id, view => view.status === 'completed')
  assert.deepEqual(
    world.configs.map(({ brain }) => brain.gemini.api_key),
    [KEY, KEY],
  )
  const seen = JSON.stringify(open.mock.calls.map(({ arguments: [options] }) => options.env))
  assert.doesNotMatch(seen, new RegExp(KEY), 'the agent never sees it')
})

test('a person who resumes a session from a shell with another key brings that key along', async t => {
  const world = await scriptedWorld(
    t,
    scriptedAgent(() => ({ asks: true })),
  )
  const id = await world.start('ask', { config: null, settings: SETTINGS })
  await world.ended(id, 1)
  const env = { PCC_BRAIN_GEMINI_API_KEY: 'another-fake-key' }
  assert.equal((await world.call('POST', '/escalations/1/answer', { answer: 'this', env })).status, 200)
  await world.when(id, view => view.status === 'completed')
  assert.equal(world.configs.at(-1)?.brain.gemini.api_key, 'another-fake-key')
})
