import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EscalationView } from '../../../src/domain/escalation.ts'
import { bodiesOf } from '../../daemon/agent-sessions.ts'
import { scriptedAgent, type Turn } from './scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from './scripted-world.ts'

const SHORT = { PCC_HUMAN_GRACE_SECONDS: '1' }
const MEDIUM = 'ln -s a b'
const HIGH = 'rm -rf build'

interface Asked {
  world: ScriptedWorld
  id: string
  askId: string
  leave(): void
  /** Lets the agent act on the reply to its question. */
  putOff(): void
  row(number?: number): Promise<EscalationView>
}

/** A session that asks while a terminal is attached. */
async function asked(t: TestContext, turn: Turn, settings: Record<string, string> = {}): Promise<Asked> {
  // As with the real agent: a parked call is requested again.
  const agent = scriptedAgent(() => turn)
  const world = await scriptedWorld(t, agent, { ...settings })
  const held = agent.holdAt('tool')
  const answered = turn.asks ? agent.holdAt('question') : undefined
  const id = await world.start('do something')
  const goOn = await held
  const leave = world.terminals.attach(id)
  goOn()
  const putOff = (await answered) ?? (() => undefined)
  if (settings !== SHORT) putOff()
  const { asks } = await world.when(id, view => view.asks[0]?.number !== undefined)
  const row = async (number = 1) => (await world.call('GET', `/escalations/${number}`)).body as EscalationView
  return { world, id, askId: asks[0]?.ask_id ?? '', leave, putOff, row }
}

test('human.grace_seconds: a question that nobody answers at a terminal is parked under its number, and can still be answered there', async t => {
  const { world, id, askId, row, putOff } = await asked(t, { asks: true }, SHORT)
  putOff()
  await world.ended(id, 1)
  const { status, asks } = await world.view(id)
  assert.deepEqual([status, asks[0]?.ask_id, asks[0]?.number], ['waiting_input', askId, 1])
  assert.equal(world.agent.open(), 0)
  assert.deepEqual([(await row()).state, (await row()).count], ['open', 1])
  const [parked] = bodiesOf(await world.events(id), 'question.parked')
  assert.deepEqual([parked?.number, parked?.reason], [1, 'nobody at the terminal answered; the question waits'])
  const answer = { ask_id: askId, answers: { 'Which?': 'this' }, by: 'ann', env: {} }
  assert.equal((await world.call('POST', `/sessions/${id}/answers`, answer)).status, 200)
  await world.when(id, view => view.status === 'completed')
  assert.deepEqual([(await row()).state, (await row()).answer], ['answered', ['this']])
})

test('an answer that comes just as the grace ends reaches the agent, by the terminal or by number', async t => {
  for (const byNumber of [false, true]) {
    const { world, id, askId, row, putOff } = await asked(t, { asks: true }, SHORT)
    // The agent was told to park the call, and has not done so yet.
    while (world.terminals.open(id).length > 0) await sleep(20)
    const here = { ask_id: askId, answers: { 'Which?': 'this' }, by: 'ann', env: {} }
    const reply = byNumber
      ? world.call('POST', '/escalations/1/answer', { answer: 'this', by: 'ann', env: {} })
      : world.call('POST', `/sessions/${id}/answers`, here)
    await Promise.race([reply, sleep(100)])
    putOff()
    assert.deepEqual((await reply).status, 200, JSON.stringify((await reply).body))
    await world.when(id, view => view.status === 'completed')
    assert.deepEqual([(await row()).state, (await row()).answered_by], ['answered', 'human'])
  }
})

test('a key press while something is asked is reported to the terminals, which count the silence', async t => {
  const { world, id } = await asked(t, { asks: true })
  const stirred = t.mock.method(world.terminals, 'stir')
  assert.equal((await world.call('POST', `/sessions/${id}/presence`, {})).status, 200)
  assert.deepEqual(
    stirred.mock.calls.map(call => call.arguments),
    [[id]],
  )
})

test('a permission request at a terminal is listed, answered by number, and remembered where it is MEDIUM', async t => {
  for (const [command, remembered] of [
    [MEDIUM, true],
    [HIGH, false],
  ] as const) {
    const { world, id, row } = await asked(t, { wants: command })
    const { kind, state, normalised, count } = await row()
    assert.deepEqual([kind, state, normalised, count], ['permission', 'open', `Bash ${command}`, 1])
    const misfit = await world.call('POST', '/escalations/1/answer', { answer: 'perhaps' })
    assert.equal(misfit.body.error.code, 'answer_unfit')
    const { status, body } = await world.call('POST', '/escalations/1/answer', { verdict: 'allow', by: 'ann' })
    assert.deepEqual([status, body.remembered, body.escalation.state], [200, remembered, 'answered'])
    await world.when(id, view => view.status === 'completed')
    const decided = bodiesOf(await world.events(id), 'permission.decided').at(-1)
    assert.deepEqual([decided?.verdict, decided?.by], ['allow', 'human'])
    const late = await world.call('POST', '/escalations/1/answer', { verdict: 'deny' })
    assert.equal(late.body.error.code, 'escalation_answered')
    assert.equal((await world.store.answers.list()).length, remembered ? 1 : 0)
  }
})

test('an answer at the terminal settles the escalation of a permission request, and of simultaneous answers the first counts', async t => {
  const { world, id, askId, row } = await asked(t, { wants: MEDIUM })
  const by = (name: string) => world.call('POST', '/escalations/1/answer', { verdict: 'deny', by: name })
  const here = { ask_id: askId, verdict: 'allow', by: 'terminal' }
  const replies = await Promise.all([by('one'), world.call('POST', `/sessions/${id}/answers`, here), by('two')])
  assert.equal(replies.filter(({ status }) => status === 200).length, 1, JSON.stringify(replies))
  await world.when(id, view => view.status === 'completed')
  const decided = bodiesOf(await world.events(id), 'permission.decided').at(-1)
  assert.deepEqual([(await row()).verdict, (await row()).answered_by], [decided?.verdict, decided?.by])
})

test('a permission request that nobody answers at a terminal is parked, and a yes is for that very call', async t => {
  const { world, id, askId, row } = await asked(t, { wants: MEDIUM }, SHORT)
  await world.ended(id, 1)
  assert.equal(world.agent.open(), 0)
  const { asks } = await world.view(id)
  assert.deepEqual([asks.length, asks[0]?.ask_id, asks[0]?.number], [1, askId, 1])
  assert.deepEqual([(await row()).state, (await row()).count], ['open', 1])
  assert.equal((await world.call('POST', '/escalations/1/answer', { verdict: 'allow', env: {} })).status, 200)
  await world.when(id, view => view.status === 'completed')
  const decided = bodiesOf(await world.events(id), 'permission.decided').at(-1)
  assert.deepEqual([decided?.call_id, decided?.verdict, decided?.by], ['b-1', 'allow', 'human'])
})

test('a permission request at a terminal is refused at its deadline, unless the setting says wait', async t => {
  const { row } = await asked(t, { wants: HIGH })
  const { deadline, on_deadline, created_at } = await row()
  assert.deepEqual([(deadline ?? 0) - created_at > 45 * 60_000, on_deadline], [true, 'deny'])
  const waits = await asked(t, { wants: HIGH }, { PCC_PERMISSIONS_UNATTENDED_HIGH: 'wait' })
  assert.deepEqual([(await waits.row()).deadline, (await waits.row()).on_deadline], [null, 'keep_waiting'])
})

test('a permission request is refused when the last terminal leaves, and listed once for the morning', async t => {
  const { world, id, leave, row } = await asked(t, { wants: HIGH })
  leave()
  await world.when(id, view => view.status === 'completed')
  assert.deepEqual([(await row()).state, (await row()).count, (await row()).deadline], ['denied', 1, null])
  assert.equal((await world.call('GET', '/escalations')).body.escalations.length, 1)
})

test('a question of a subagent cannot be parked: it stays open after the grace, and that is noted', async t => {
  const { world, id, askId } = await asked(t, { wants: HIGH, subagent: 'a-1' }, SHORT)
  const notes = async () => bodiesOf(await world.events(id), 'session.noted').map(({ text }) => text)
  for await (const { kind } of world.store.follow(0, { subject: id, signal: new AbortController().signal })) {
    if (kind === 'session.noted') break
  }
  assert.match((await notes())[0] ?? '', /^Nobody at the terminal has answered yet/)
  assert.deepEqual(
    (await world.view(id)).asks.map(({ ask_id }) => ask_id),
    [askId],
  )
  assert.equal((await world.call('POST', '/escalations/1/answer', { verdict: 'deny' })).status, 200)
  await world.when(id, view => view.status === 'completed')
})

test('the opinion of a brain on a call is shown to the person who is asked, also when the call is parked', async t => {
  const { world, id, row } = await asked(
    t,
    { wants: 'git status && ls' },
    { ...SHORT, PCC_BRAIN_CONFIDENCE_THRESHOLD: '0.99', PCC_PERMISSIONS_AUTO_APPROVE_LOW_RISK: 'true' },
  )
  const [told] = bodiesOf(await world.events(id), 'permission.asked')
  assert.deepEqual([told?.suggestion?.answer, told?.suggestion?.by, told?.number], [['allow'], 'rules', 1])
  assert.equal((await row()).context.suggestion?.confidence, 0.85)
})
