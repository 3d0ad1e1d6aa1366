import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionEvent } from '../../../src/domain/session.ts'
import { bodiesOf } from '../../daemon/agent-sessions.ts'
import { scriptedAgent } from '../steering/scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from '../steering/scripted-world.ts'

const MINUTE = 60_000

const isPaused = ({ status }: { status: string }) => status === 'paused'
const isComplete = ({ status }: { status: string }) => status === 'completed'

/** Resolves when the session's tools have come back so many times, and that was heard. */
async function finished({ store }: ScriptedWorld, subject: string, times: number): Promise<void> {
  const enough = new AbortController()
  let left = times
  for await (const { kind } of store.follow(0, { subject, signal: enough.signal })) {
    if (kind === 'tool.finished') left -= 1
    if (left === 0) enough.abort()
  }
  await new Promise(resolve => setImmediate(resolve))
}

function calls(times: number): SessionEvent[] {
  return Array.from({ length: times }, (_, index): SessionEvent[] => [
    { kind: 'tool_request', callId: `b-${index}`, tool: 'Bash', input: { command: `make # try ${index}` } },
    { kind: 'tool_result', callId: `b-${index}`, ok: false, output: 'error: no rule' },
  ]).flat()
}

test('breakers.repeated_calls: an agent in a circle is told, stopped softly and asked about; a person grants it a fresh allowance', async t => {
  const agent = scriptedAgent((_prompt, asked) => (asked === 0 ? { tells: calls(5) } : { tells: calls(3) }))
  const world = await scriptedWorld(t, agent, { PCC_BREAKERS_REPEATED_CALLS: '5' })
  const id = await world.start('first')
  const { reason } = await world.when(id, isPaused)
  assert.match(
    reason ?? '',
    /^It has made the same call 5 times with the same outcome: Bash make # try 4\n.*pcc resume/,
  )
  assert.deepEqual(
    bodiesOf(await world.events(id), 'guard.tripped').map(({ guard, did }) => [guard, did]),
    [
      ['repetition', 'told'],
      ['repetition', 'paused'],
    ],
  )
  const { escalations } = (await world.call('GET', '/escalations?state=open')).body
  assert.equal(escalations.length, 1)
  const answered = await world.call('POST', `/escalations/${escalations[0].number}/answer`, { verdict: 'allow' })
  assert.equal(answered.status, 200, JSON.stringify(answered.body))
  await world.when(id, isComplete)
})

test('sessions.stall_minutes: an agent that hangs goes on once by itself, and the second time a person is asked', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent, { PCC_SESSIONS_STALL_MINUTES: '3' })
  const first = agent.holdAt('last request')
  const id = await world.start('first')
  await first
  await finished(world, id, 1)
  world.time.ahead += 2 * MINUTE
  await world.supervisor.lookAtAgents()
  assert.equal((await world.view(id)).status, 'processing', 'two minutes are nothing')
  const second = agent.holdAt('last request')
  world.time.ahead += 2 * MINUTE
  await world.supervisor.lookAtAgents()
  await world.ended(id, 1)
  const [trip] = bodiesOf(await world.events(id), 'guard.tripped')
  assert.match(trip?.reason ?? '', /^The agent hangs: no sign of life for 4 minutes$/)
  world.pass(MINUTE)
  await second
  await finished(world, id, 2)
  assert.equal((await world.call('GET', '/escalations?state=open')).body.escalations.length, 0)
  world.time.ahead += 4 * MINUTE
  await world.supervisor.lookAtAgents()
  const { reason, resumes_at } = await world.when(id, isPaused)
  assert.match(reason ?? '', /It hung before/)
  assert.equal(resumes_at, null)
  assert.equal((await world.call('GET', '/escalations?state=open')).body.escalations.length, 1)
  assert.equal((await world.call('POST', `/sessions/${id}/resume`, {})).status, 200)
  await world.when(id, isComplete)
})

test('a silent tool is no hang for an hour, and time at work is booked while it runs', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent, { PCC_BUDGETS_SESSION_WALL_MINUTES: '55' })
  const there = agent.holdAt('tool')
  const id = await world.start('first')
  const goOn = await there
  for (let minute = 0; minute < 50; minute += 5) {
    world.time.ahead += 5 * MINUTE
    await world.supervisor.lookAtAgents()
  }
  assert.equal((await world.view(id)).status, 'processing')
  const [row] = await world.store.spending.of([{ scope: 'session', key: id }])
  assert.equal(Math.round(row?.wall_minutes ?? 0), 50)
  assert.equal(bodiesOf(await world.events(id), 'budget.warned')[0]?.measure, 'wall_minutes')
  world.time.ahead += 6 * MINUTE
  await world.supervisor.lookAtAgents()
  goOn()
  assert.match((await world.when(id, isPaused)).reason ?? '', /^The session's budget of 55 min is spent/)
})
