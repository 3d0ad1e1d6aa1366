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
  /** A person answers what it asked. */
  answer(): Promise<number>
}

/** A session that waits for the answer to its question, and goes on only when a person says so. */
async function parked(t: TestContext, resumed: Turn[] = []): Promise<Parked> {
  // A new prompt would not ask: only the call that waits can hear the answer.
  const agent = scriptedAgent(prompt => {
    if (prompt === 'ask') return { asks: true }
    return prompt === '(the parked call)' ? { asks: true, ...resumed.shift() } : {}
  })
  const world = await scriptedWorld(t, agent, { PCC_SESSIONS_AUTO_RESUME: 'false' })
  const id = await world.start('ask')
  const { asks } = await world.when(id, ({ status }) => status === 'waiting_input')
  while (world.supervisor.run(id)) await new Promise(resolve => setImmediate(resolve))
  const answer = async () => {
    const said = { answer: ['SQLite'], env: {} }
    return (await world.call('POST', `/escalations/${asks[0]?.number}/answer`, said)).status
  }
  return { world, agent, id, answer }
}

/** The person makes it go on: the answer that was given before reaches the agent, once. */
async function goesOnAnswered({ world, id }: Parked): Promise<void> {
  assert.equal((await world.call('POST', `/sessions/${id}/resume`, {})).status, 200)
  await world.when(id, ({ status }) => status === 'completed')
  const heard = bodiesOf(await world.events(id), 'question.answered').map(({ answers }) => answers)
  assert.deepEqual(heard, [{ 'Which?': 'SQLite' }])
}

test('an answer to a session whose account is shut by then is kept for the person who makes it go on', async t => {
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

test('an answer that meets a limit before the model has heard it is kept for the person who makes it go on', async t => {
  const asked = await parked(t, [{ refused: LIMIT }])
  const { world, id, answer } = asked
  assert.equal(await answer(), 200)
  const { resumes_at } = await world.when(id, ({ status }) => status === 'rate_limited')
  assert.equal(resumes_at, null)
  world.pass(HOUR)
  await goesOnAnswered(asked)
})

test('an answer to a session that a person pauses before its agent is there is kept for when it goes on', async t => {
  const asked = await parked(t)
  const { world, agent, id, answer } = asked
  const there = agent.holdAt('opening')
  assert.equal(await answer(), 200)
  const goOn = await there
  const pausing = world.call('POST', `/sessions/${id}/pause`, {})
  while (!world.supervisor.run(id)?.pausing) await new Promise(resolve => setImmediate(resolve))
  goOn()
  assert.equal((await pausing).status, 200)
  const { resumes_at } = await world.when(id, ({ status }) => status === 'paused')
  assert.equal(resumes_at, null)
  await goesOnAnswered(asked)
})
