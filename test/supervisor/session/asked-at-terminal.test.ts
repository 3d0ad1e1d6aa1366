import assert from 'node:assert/strict'
import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { EscalationView } from '../../../src/domain/escalation.ts'
import { bodiesOf } from '../../daemon/agent-sessions.ts'
import { tempDir } from '../../support/world.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from './scripted-world.ts'

interface Asked {
  world: ScriptedWorld
  id: string
  askId: string
  leave(): void
  row(): Promise<EscalationView>
}

/** A session that asks "Which?" while somebody is attached to it. */
async function asked(t: TestContext, settings: Record<string, string> = {}): Promise<Asked> {
  const agent = scriptedAgent((_prompt, call) => ({ asks: call === 0 }))
  const world = await scriptedWorld(t, agent, settings)
  const held = agent.holdAt('tool')
  const id = await world.start('ask something')
  const goOn = await held
  const leave = world.terminals.attach(id)
  goOn()
  const { asks } = await world.when(id, view => view.asks[0]?.number !== undefined)
  const row = async () => (await world.call('GET', '/escalations/1')).body as EscalationView
  return { world, id, askId: asks[0]?.ask_id ?? '', leave, row }
}

test('a question at a terminal is listed with a number, by which it can be answered from anywhere', async t => {
  const { world, id, row } = await asked(t)
  const { escalations } = (await world.call('GET', '/escalations')).body
  assert.deepEqual([escalations.length, escalations[0].state, escalations[0].target], [1, 'open', 'Which?'])
  assert.deepEqual([(await world.view(id)).asks[0]?.number, (await world.view(id)).status], [1, 'waiting_input'])
  const misfit = await world.call('POST', '/escalations/1/answer', { answer: ' ' })
  assert.equal(misfit.body.error.code, 'answer_unfit')
  const { status, body } = await world.call('POST', '/escalations/1/answer', { answer: 'that one', by: 'ann' })
  assert.deepEqual([status, body.escalation.state, body.escalation.answered_by], [200, 'answered', 'human'])
  assert.equal(body.remembered, true)
  await world.when(id, view => view.status === 'completed')
  const [answer] = bodiesOf(await world.events(id), 'question.answered')
  assert.deepEqual([answer?.answers, answer?.by], [{ 'Which?': 'that one' }, 'human'])
  assert.deepEqual((await row()).answer, ['that one'])
})

test('a session whose question was answered at a terminal is at work again, and waits for nobody', async t => {
  const { world, id, askId } = await asked(t)
  const held = world.agent.holdAt('last request')
  await world.call('POST', `/sessions/${id}/answers`, { ask_id: askId, answers: { 'Which?': 'this' } })
  const goOn = await held
  assert.equal((await world.view(id)).status, 'processing')
  goOn()
  await world.when(id, view => view.status === 'completed')
})

test('an answer at the terminal settles the escalation, and a later answer by number is told who was first', async t => {
  const { world, id, askId, row } = await asked(t)
  const answer = { ask_id: askId, answers: { 'Which?': 'the left one' }, by: 'ann' }
  assert.equal((await world.call('POST', `/sessions/${id}/answers`, answer)).status, 200)
  const late = await world.call('POST', '/escalations/1/answer', { answer: 'the right one' })
  assert.equal(late.status, 409)
  assert.match(late.body.error.message, /^Decision 1 was answered by human on /)
  await world.when(id, view => view.status === 'completed')
  assert.deepEqual([(await row()).state, (await row()).answer], ['answered', ['the left one']])
  assert.deepEqual((await world.store.answers.list()).length, 1, 'it is remembered once')
})

test('of simultaneous answers from everywhere the first counts, and the escalation holds what the agent heard', async t => {
  const { world, id, askId, row } = await asked(t)
  const by = (name: string) => world.call('POST', '/escalations/1/answer', { answer: name, by: name })
  const here = { ask_id: askId, answers: { 'Which?': 'terminal' }, by: 'terminal' }
  const replies = await Promise.all([by('one'), world.call('POST', `/sessions/${id}/answers`, here), by('two')])
  assert.equal(replies.filter(({ status }) => status === 200).length, 1, JSON.stringify(replies))
  await world.when(id, view => view.status === 'completed')
  const answered = bodiesOf(await world.events(id), 'question.answered')
  assert.equal(answered.length, 1)
  assert.deepEqual(
    [(await row()).answer, (await row()).answered_by],
    [[answered[0]?.answers['Which?']], answered[0]?.by],
  )
})

test('a question is parked when the last terminal leaves, keeps its number, is asked once, and is answered by that number', async t => {
  const { world, id, leave, row } = await asked(t)
  leave()
  await world.ended(id, 1)
  assert.deepEqual([(await row()).state, (await row()).count], ['open', 1])
  assert.equal(bodiesOf(await world.events(id), 'question.parked')[0]?.number, 1)
  assert.equal((await world.call('POST', '/escalations/1/answer', { answer: 'that one', env: {} })).status, 200)
  await world.when(id, view => view.status === 'completed')
})

test('a session that is stopped while it asks needs no answer any more', async t => {
  const { world, id, row } = await asked(t)
  await world.call('POST', `/sessions/${id}/stop`, {})
  await world.ended(id, 1)
  assert.equal((await row()).state, 'withdrawn')
})

test('a question that is asked at a terminal and elsewhere is one entry, and one answer lets all sessions go on', async t => {
  const agent = scriptedAgent(() => ({ asks: true }))
  const world = await scriptedWorld(t, agent)
  const parked = await world.start('nobody is there')
  await world.ended(parked, 1)
  const here = await world.start('somebody is here', { attach: true })
  const there = await world.start('somebody is there', { attach: true })
  const [one] = (await world.when(here, view => view.asks[0]?.number !== undefined)).asks
  const [two] = (await world.when(there, view => view.asks[0]?.number !== undefined)).asks
  assert.deepEqual([one?.number, two?.number], [1, 1])
  const later = await world.start('nobody is there either')
  await world.ended(later, 1)
  const { escalations } = (await world.call('GET', '/escalations')).body
  assert.deepEqual([escalations.length, escalations[0].count, escalations[0].sessions.length], [1, 4, 4])
  const answer = { ask_id: one?.ask_id, answers: { 'Which?': 'this' }, by: 'ann', env: {} }
  assert.equal((await world.call('POST', `/sessions/${here}/answers`, answer)).status, 200)
  for (const id of [parked, here, there, later]) {
    await world.when(id, view => view.status === 'completed')
    const answered = bodiesOf(await world.events(id), 'question.answered')
    assert.deepEqual(
      answered.map(({ answers, by }) => [answers['Which?'], by]),
      [['this', 'human']],
    )
  }
})

test('a session whose terminal leaves while others wait for the same answer is not counted again, and is answered with them', async t => {
  const agent = scriptedAgent(() => ({ asks: true }))
  const world = await scriptedWorld(t, agent)
  const first = await world.start('nobody is there')
  await world.ended(first, 1)
  const held = agent.holdAt('tool')
  const second = await world.start('somebody is here')
  const goOn = await held
  const leave = world.terminals.attach(second)
  goOn()
  await world.when(second, view => view.asks[0]?.number === 1)
  leave()
  await world.ended(second, 1)
  const row = (await world.call('GET', '/escalations/1')).body
  assert.deepEqual([row.state, row.count, row.sessions.length], ['open', 2, 2])
  assert.equal((await world.call('POST', '/escalations/1/answer', { answer: 'this', env: {} })).status, 200)
  for (const id of [first, second]) await world.when(id, view => view.status === 'completed')
})

test('a yes at the terminal is for the script as it was shown: if it has changed, the call is judged and asked anew', async t => {
  const agent = scriptedAgent(() => ({ wants: 'bash x.sh' }))
  const world = await scriptedWorld(t, agent)
  const project = realpathSync(tempDir(t))
  const script = join(project, 'x.sh')
  writeFileSync(script, 'sudo id\n')
  const held = agent.holdAt('tool')
  const id = await world.start('run it', { project })
  const goOn = await held
  world.terminals.attach(id)
  goOn()
  const shown = async (line: RegExp) => (await world.when(id, view => line.test(JSON.stringify(view.asks)))).asks[0]
  const first = await shown(/x\.sh line 1: sudo/)
  writeFileSync(script, 'true\ngit push --force\n')
  const say = (askId = '') =>
    world.call('POST', `/sessions/${id}/answers`, { ask_id: askId, verdict: 'allow', by: 'ann' })
  assert.equal((await say(first?.ask_id)).status, 200)
  const second = await shown(/x\.sh line 2: --force/)
  assert.deepEqual(
    bodiesOf(await world.events(id), 'permission.decided').filter(({ tool }) => tool === 'Bash'),
    [],
  )
  await say(second?.ask_id)
  await world.when(id, view => view.status === 'completed')
  const decided = bodiesOf(await world.events(id), 'permission.decided').filter(({ tool }) => tool === 'Bash')
  assert.deepEqual(
    decided.map(({ verdict, by }) => [verdict, by]),
    [['allow', 'human']],
  )
})
