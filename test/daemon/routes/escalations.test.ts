import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EscalationView } from '../../../src/domain/escalation.ts'
import type { RememberedView } from '../../../src/domain/remembered-answer.ts'
import { scriptedAgent } from '../../supervisor/session/scripted-agent.ts'
import { scriptedWorld } from '../../supervisor/session/scripted-world.ts'
import { AN_ESCALATION } from '../../support/an-escalation.ts'

test('the list of decisions shows those of one session, or of the states that are named', async t => {
  const { store, call } = await scriptedWorld(t, scriptedAgent())
  for (const id of ['s-aaaaaa', 's-bbbbbb']) {
    await store.sessions.insert({ id, name: id, project: '/p', task: 't', agent: 'claude' })
    await store.transaction(tx => store.escalations.insert({ ...AN_ESCALATION, session_id: id, project: '/p' }, tx))
  }
  const listed = async (query: string) =>
    ((await call('GET', `/escalations${query}`)).body.escalations as EscalationView[]).map(row => row.session_id)
  assert.deepEqual((await listed('')).toSorted(), ['s-aaaaaa', 's-bbbbbb'])
  assert.deepEqual(await listed('?session=s-bbb'), ['s-bbbbbb'])
  assert.equal((await listed('?state=answered,open')).length, 2)
  assert.deepEqual(await listed('?state=answered'), [])
  const counted = async (query: string) => (await call('GET', `/sessions${query}`)).body.decisions
  assert.deepEqual([await counted(''), await counted('?project=/p'), await counted('?project=/q')], [2, 2, 0])
  for (const wrong of ['?session=', '?state=gone']) {
    assert.equal((await call('GET', `/escalations${wrong}`)).body.error.code, 'bad_request', wrong)
  }
})

test('a remembered answer says whether it applies in its project or everywhere', async t => {
  const world = await scriptedWorld(
    t,
    scriptedAgent(prompt => ({ asks: prompt !== 'go on' })),
  )
  const remembered = async (always: string) => {
    const id = await world.start('ask something')
    const { asks, project } = await world.when(id, ({ status }) => status === 'waiting_input')
    const answer = { answer: 'this', always, env: {} }
    assert.equal((await world.call('POST', `/escalations/${asks[0]?.number}/answer`, answer)).status, 200)
    await world.when(id, ({ status }) => status === 'completed')
    const answers: RememberedView[] = (await world.call('GET', '/answers')).body.answers
    for (const { id: old } of answers) await world.store.answers.forget(old)
    return { project, views: answers.map(view => [view.scope, view.project]) }
  }
  const here = await remembered('project')
  assert.deepEqual(here.views, [['project', here.project]])
  assert.deepEqual((await remembered('everywhere')).views, [['everywhere', null]])
})

test('the answer to a parked question needs an environment for the agent, and is stored in the words of the person', async t => {
  const world = await scriptedWorld(
    t,
    scriptedAgent(() => ({ asks: true })),
  )
  const id = await world.start('ask something')
  const { asks } = await world.when(id, ({ status }) => status === 'waiting_input')
  const answer = { ask_id: asks[0]?.ask_id, answers: { 'Which?': 'the left one' } }
  const without = await world.call('POST', `/sessions/${id}/answers`, answer)
  assert.deepEqual([without.status, without.body.error?.code], [400, 'bad_request'])
  assert.equal((await world.call('POST', `/sessions/${id}/answers`, { ...answer, env: {} })).status, 200)
  const { body } = await world.call('GET', `/escalations/${asks[0]?.number}`)
  assert.deepEqual([body.state, body.answer], ['answered', ['the left one']])
  await world.when(id, ({ status }) => status === 'completed')
})
