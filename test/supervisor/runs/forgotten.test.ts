import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenSession } from '../../../src/domain/session.ts'
import { scriptedAgent, type Turn } from '../session/scripted-agent.ts'
import { scriptedWorld } from '../session/scripted-world.ts'

test('an agent that knows nothing of its own conversation begins a new one, by itself, with all that was kept', async t => {
  const turns: Turn[] = [
    { failure: { kind: 'refusal', message: 'it will not' } },
    { refused: { kind: 'resume_unknown', message: 'No such conversation' } },
  ]
  const agent = scriptedAgent(() => turns.shift() ?? {})
  const opened: OpenSession['resume'][] = []
  const world = await scriptedWorld(t, agent, {}, async () => ({
    ...agent.driver,
    open: options => {
      opened.push(options.resume)
      return agent.driver.open(options)
    },
  }))
  const id = await world.start('Build the bridge')
  await world.when(id, ({ status }) => status === 'error')
  const { status } = await world.call('POST', `/sessions/${id}/resume`, { env: {} })
  assert.equal(status, 200)
  await world.ended(id, 2)
  world.pass(1000)
  await world.when(id, view => view.status === 'completed')
  assert.deepEqual(opened, [undefined, { vendorId: `v-${id}`, fork: false }, undefined])
  assert.match(agent.prompts.at(-1) ?? '', /Build the bridge/)
})

test('a conversation that a person has named and that does not exist stays an error', async t => {
  const agent = scriptedAgent(() => ({ refused: { kind: 'resume_unknown', message: 'No such conversation' } }))
  const world = await scriptedWorld(t, agent)
  const resume = { vendor_id: '00000000-0000-4000-8000-000000000001', fork: false }
  const id = await world.start('Go on', { resume })
  const { status, resumes_at } = await world.when(id, view => view.status === 'error')
  assert.deepEqual([status, resumes_at ?? null], ['error', null])
})
