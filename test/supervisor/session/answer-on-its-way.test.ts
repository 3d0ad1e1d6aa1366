import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Failure } from '../../../src/domain/session.ts'
import { bodiesOf } from '../../daemon/agent-sessions.ts'
import { type ScriptedAgent, scriptedAgent, type Turn } from './scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from './scripted-world.ts'

const HOUR = 3_600_000
const LIMIT: Failure = { kind: 'limit', message: 'full', limit: { source: 'result', message: 'full' } }

interface Parked {
  world: ScriptedWorld
  agent: ScriptedAgent
  id: string
  /** Answers the question of the session. */
  answer(): Promise<number>
}

/** A session that waits for the answer to its question, and goes on only when a person resumes it. */
async function parked(t: TestContext, resumed: Turn[] = []): Promise<Parked> {
  // A new prompt would not ask again: only the parked call can get the answer.
  const agent = scriptedAgent(prompt => {
    if (prompt === 'ask') return { asks: true }
    return prompt === '(the parked call)' ? { asks: true, ...resumed.shift() } : {}
  })
  const world = await scriptedWorld(t, agent, { PCC_SESSIONS_AUTO_RESUME: 'false' })
  const id = await world.start('ask')
  const { asks } = await world.when(id, ({ status }) => status === 'waiting_input')
  while (world.supervisor.run(id)) await new Promise(resolve => setImmediate(resolve))
  const answer = async () => {
    const body = { answer: ['SQLite'], env: {} }
    return (await world.call('POST', `/escalations/${asks[0]?.number}/answer`, body)).status
  }
  return { world, agent, id, answer }
}

/** A person resumes the session: the answer that was given before reaches the agent, once. */
async function goesOnAnswered({ world, id }: Parked): Promise<void> {
  assert.equal((await world.call('POST', `/sessions/${id}/resume`, {})).status, 200)
  await world.when(id, ({ status }) => status === 'completed')
  const answers = bodiesOf(await world.events(id), 'question.answered').map(body => body.answers)
  assert.deepEqual(answers, [{ 'Which?': 'SQLite' }])
}

test('an answer to a session whose account has been closed meanwhile is kept until a person resumes the session', async t => {
  const asked = await parked(t)
  const { world, agent, id, answer } = asked
  await world.call('POST', '/quota/hold', {})
  const calls = agent.calls()
  assert.equal(await answer(), 200)
  const { resumes_at } = await world.when(id, ({ status }) => status === 'rate_limited')
  assert.equal(resumes_at, null)
  await world.call('POST', '/quota/release', {})
  assert.equal(agent.calls(), calls)
  await goesOnAnswered(asked)
})

test('an answer that meets a limit before the model has heard it is kept until a person resumes the session', async t => {
  const asked = await parked(t, [{ refused: LIMIT }])
  const { world, id, answer } = asked
  assert.equal(await answer(), 200)
  const { resumes_at } = await world.when(id, ({ status }) => status === 'rate_limited')
  assert.equal(resumes_at, null)
  world.pass(HOUR)
  await goesOnAnswered(asked)
})

test('an answer to a session that a person pauses before its agent is open is kept until the session goes on', async t => {
  const asked = await parked(t)
  const { world, agent, id, answer } = asked
  const there = agent.holdAt('opening')
  assert.equal(await answer(), 200)
  const goOn = await there
  const pausing = world.call('POST', `/sessions/${id}/pause`, {})
  while (!world.supervisor.run(id)?.control.pausing) await new Promise(resolve => setImmediate(resolve))
  goOn()
  assert.equal((await pausing).status, 200)
  const { resumes_at } = await world.when(id, ({ status }) => status === 'paused')
  assert.equal(resumes_at, null)
  await goesOnAnswered(asked)
})
