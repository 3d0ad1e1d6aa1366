import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meeting } from '../../supervisor/runs/scripts.ts'
import { scriptedAgent } from '../../supervisor/session/scripted-agent.ts'
import { runWorld } from './run-world.ts'

for (const [word, state] of [
  ['done', 'done'],
  ['fail', 'failed'],
  ['cancel', 'cancelled'],
] as const) {
  test(`pcc task ${word} of a task at work stops its agent, and the run goes on with the next`, async t => {
    const agent = scriptedAgent()
    const world = await runWorld(t, agent)
    const [first] = [await world.add('one', { priority: 1 }), await world.add('two')]
    const held = agent.holdAt('tool')
    const { id } = await world.run()
    const goOn = await held
    const before = agent.open()
    const { body } = await world.call('POST', `/tasks/${first}/${word}`, { reason: 'I say so' })
    assert.deepEqual([before, body.task.state], [1, state])
    const [attempt] = (await world.detail(id)).attempts
    assert.equal((await world.view(attempt?.session_id ?? '')).status, 'stopped')
    goOn()
    const after = await world.over(id)
    assert.equal(after.outcome, word === 'fail' ? 'failure' : 'complete')
    assert.deepEqual(
      after.attempts.map(({ title }) => title),
      ['one', 'two'],
    )
    assert.equal((await world.call('GET', `/tasks/${first}`)).body.task.state, state)
    assert.equal(agent.open(), 0)
  })
}

test('pcc task reset of a task at work stops its agent, and another one begins it anew when that is gone', async t => {
  const agent = scriptedAgent()
  const world = await runWorld(t, agent)
  const task = await world.add('one')
  const held = agent.holdAt('tool')
  const { id } = await world.run()
  const goOn = await held
  await world.call('POST', `/tasks/${task}/reset`, {})
  goOn()
  const { outcome, attempts } = await world.over(id)
  assert.equal(outcome, 'complete')
  assert.deepEqual(
    attempts.map(each => each.outcome),
    ['interrupted', 'done'],
  )
  assert.deepEqual(
    attempts.map(({ number }) => number),
    [1, 2],
  )
  assert.notEqual(attempts[0]?.session_id, attempts[1]?.session_id)
})

test('pcc task reset of a task that waits for a person lets the run begin it anew: nobody has stopped the run', async t => {
  const agent = meeting({ one: [{ asks: true }] })
  const world = await runWorld(t, agent)
  const task = await world.add('one')
  const { id } = await world.run()
  await world.since(id, ({ kind }) => kind === 'session.ended')
  await world.call('POST', `/tasks/${task}/reset`, {})
  const { outcome, attempts } = await world.over(id)
  assert.deepEqual([outcome, attempts.map(each => each.outcome)], ['complete', ['interrupted', 'done']])
})

test('what is said of a whole stops those who work on its parts', async t => {
  const agent = scriptedAgent()
  const world = await runWorld(t, agent)
  const whole = await world.add('whole')
  const part = await world.call('POST', '/tasks', { project: world.project, title: 'part', parent: whole })
  const held = agent.holdAt('tool')
  const { id } = await world.run()
  const goOn = await held
  await world.call('POST', `/tasks/${whole}/cancel`, {})
  assert.equal(agent.open(), 0)
  goOn()
  assert.equal((await world.over(id)).outcome, 'complete')
  assert.equal((await world.call('GET', `/tasks/${part.body.task.id}`)).body.task.state, 'cancelled')
})
