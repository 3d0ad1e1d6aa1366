import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scriptedAgent } from './scripted-agent.ts'
import { scriptedWorld } from './scripted-world.ts'

const FULL = 'only 3 MB are free'

test('an answer starts nothing on a full disk and stays to be given; with space again it is taken', async t => {
  const agent = scriptedAgent(() => ({ asks: true }))
  const world = await scriptedWorld(t, agent)
  const id = await world.start('ask something')
  await world.ended(id, 1)
  const { body } = await world.call('GET', '/escalations')
  const { number } = body.escalations[0]
  const calls = agent.calls()

  world.disk.reason = FULL
  const answer = () => world.call('POST', `/escalations/${number}/answer`, { answer: ['SQLite'], env: {} })
  const refused = await answer()
  assert.deepEqual([refused.status, refused.body.error?.code], [507, 'disk_full'])
  assert.equal((await world.view(id)).status, 'waiting_input')
  assert.equal(agent.calls(), calls)
  assert.equal((await world.store.escalations.get(number))?.state, 'open')

  world.disk.reason = undefined
  assert.equal((await answer()).status, 200)
  await world.when(id, ({ status }) => status === 'completed')
})
