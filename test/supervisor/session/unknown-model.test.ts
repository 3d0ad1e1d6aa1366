import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listNeeds } from '../../../src/supervisor/report/needs.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { scriptedWorld } from './scripted-world.ts'

test('a session whose model the vendor does not know waits for another name, and its task does not fail', async t => {
  const models: (string | undefined)[] = []
  const failure = { kind: 'model_not_found', message: 'There is no model nope.' } as const
  const agent = scriptedAgent(() => (models.at(-1) === 'nope' ? { failure } : {}))
  const { open } = agent.driver
  agent.driver.open = options => {
    models.push(options.model)
    return open(options)
  }
  const world = await scriptedWorld(t, agent)
  const id = await world.start('the task', { model: 'nope' })
  const waits = await world.when(id, ({ ended_at }) => ended_at !== null)
  const typed = `pcc resume ${id} --model <model>`
  assert.deepEqual([waits.status, waits.reason], ['paused', `There is no model nope.\n${typed}`])
  const { needs } = await listNeeds({ store: world.store })
  assert.deepEqual(
    needs.map(({ next }) => next),
    [typed],
  )
  const tasks = async () => (await world.store.tasks.list({})).map(({ state, retries }) => [state, retries])
  assert.deepEqual(await tasks(), [['waiting', 0]])

  assert.equal((await world.call('POST', `/sessions/${id}/resume`, { model: 'better' })).status, 200)
  await world.when(id, ({ status }) => status === 'completed')
  assert.deepEqual([models, await tasks()], [['nope', 'better'], [['done', 0]]])
})
