import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodiesOf } from '../../daemon/agent-sessions.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { scriptedWorld } from './scripted-world.ts'

const GONE = { kind: 'nothing_parked', message: 'There was no parked call to answer.' } as const
const WAIT = { PCC_PERMISSIONS_UNATTENDED_HIGH: 'wait' }

test('an answer to a question that the agent has given up is given in words, once, and the task is done', async t => {
  const agent = scriptedAgent(prompt =>
    prompt === '(the parked call)' ? { refused: GONE } : prompt === 'ask' ? { asks: true } : {},
  )
  const world = await scriptedWorld(t, agent)
  const id = await world.start('ask')
  await world.when(id, ({ status }) => status === 'waiting_input')
  const { body: open } = await world.call('GET', '/escalations')
  await world.call('POST', `/escalations/${open.escalations[0].number}/answer`, { answer: ['red'], env: {} })
  await world.when(id, ({ status }) => status === 'completed')
  assert.deepEqual(agent.prompts.slice(0, 2), ['ask', '(the parked call)'])
  assert.match(agent.prompts[2] ?? '', /The answers to your questions are:\n- Which\? red/)
  assert.equal(agent.prompts.length, 3)
  const events = await world.events(id)
  assert.equal(bodiesOf(events, 'task.failed').length, 0)
  assert.equal(bodiesOf(events, 'task.finished').length, 1)
  assert.equal((await world.store.sessions.get(id))?.parked, null)
})

for (const verdict of ['allow', 'deny'] as const) {
  test(`a call that was given up is made again after "${verdict}", and the answer is for that call alone`, async t => {
    const agent = scriptedAgent(prompt => {
      if (prompt === '(the parked call)') return { refused: GONE }
      if (prompt === 'force') return { wants: 'git push --force', wantsAs: 'b-first' }
      return { wants: 'git push --force', wantsAs: 'b-second' }
    })
    const world = await scriptedWorld(t, agent, WAIT)
    const id = await world.start('force')
    await world.when(id, ({ status }) => status === 'waiting_input')
    const { body: open } = await world.call('GET', '/escalations')
    await world.call('POST', `/escalations/${open.escalations[0].number}/answer`, { verdict, env: {} })
    await world.when(id, ({ status }) => status === 'completed')
    assert.match(agent.prompts[2] ?? '', /About the call that waited for a person \(Bash: git push --force\)/)
    const decided = bodiesOf(await world.events(id), 'permission.decided').filter(({ tool }) => tool === 'Bash')
    assert.deepEqual(
      decided.map(({ call_id, verdict, by }) => [call_id, verdict, by]),
      [['b-second', verdict, 'human']],
    )
  })
}

test('a new conversation is told where the work stood and what was answered, when the old one is gone', async t => {
  const agent = scriptedAgent(prompt => (prompt === 'ask' ? { asks: true } : {}))
  const world = await scriptedWorld(t, agent)
  const id = await world.start('ask')
  await world.when(id, ({ status }) => status === 'waiting_input')
  agent.lose()
  const { body: open } = await world.call('GET', '/escalations')
  await world.call('POST', `/escalations/${open.escalations[0].number}/answer`, { answer: ['red'], env: {} })
  await world.when(id, ({ status }) => status === 'completed')
  assert.equal(agent.prompts.length, 2, 'the answer was given once')
  assert.match(agent.prompts[1] ?? '', /ask[\s\S]*The answers to your questions are:\n- Which\? red/)
  const notes = bodiesOf(await world.events(id), 'session.noted').map(({ text }) => text)
  assert.ok(
    notes.some(text => text.includes('record of the conversation is gone')),
    notes.join('\n'),
  )
  assert.equal((await world.store.sessions.get(id))?.parked, null)
})
