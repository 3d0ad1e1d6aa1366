import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { test } from 'node:test'
import type { Failure } from '../../../src/domain/session.ts'
import { tempDir } from '../../support/world.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { scriptedWorld } from './scripted-world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const isLimited = ({ status }: { status: string }) => status === 'rate_limited'
const isPaused = ({ status }: { status: string }) => status === 'paused'
const isComplete = ({ status }: { status: string }) => status === 'completed'

function refusal(resetsAt?: number): Failure {
  const limit = { source: 'result', message: 'full', ...(resetsAt !== undefined && { resetsAt }) } as const
  return { kind: 'limit', message: 'full', limit }
}

const turn = () => new Promise<void>(resolve => setImmediate(resolve))

test('a stop wins over a session that is due, at any moment', async t => {
  const agent = scriptedAgent(prompt => (prompt === 'first' ? { refused: refusal(Date.now() + HOUR) } : {}))
  const world = await scriptedWorld(t, agent)
  for (let moment = 0; moment < 40; moment++) {
    const id = await world.start('first')
    await world.when(id, isLimited)
    while (world.supervisor.run(id)) await turn()
    world.pass(2 * HOUR)
    for (let turns = 0; turns < moment; turns++) await turn()
    const { status } = await world.call('POST', `/sessions/${id}/stop`, {})
    for (let turns = 0; turns < 60 || world.supervisor.run(id); turns++) await turn()
    const view = await world.view(id)
    assert.equal(view.resumes_at, null, `at moment ${moment}`)
    // A session that was quicker than the stop has completed its task.
    assert.match(view.status, status === 200 ? /^(stopped|completed)$/ : /^completed$/, `at moment ${moment}`)
  }
})

test('a session that cannot go on by itself is listed for a person, whose yes resumes it', async t => {
  const project = tempDir(t, 'pcc-moving-')
  const agent = scriptedAgent((_prompt, calls) => (calls === 0 ? { failure: refusal(Date.now() + MINUTE) } : {}))
  const world = await scriptedWorld(t, agent)
  const id = await world.start('first', { project })
  await world.when(id, isLimited)
  renameSync(project, `${project}-away`)
  world.pass(HOUR)
  const { reason } = await world.when(id, isPaused)
  assert.match(reason ?? '', /could not go on by itself/)
  const { body } = await world.call('GET', '/escalations?state=open')
  const rows = body.escalations.filter((row: { session_id: string }) => row.session_id === id)
  assert.equal(rows.length, 1)
  assert.match(rows[0].reason, new RegExp(project))
  renameSync(`${project}-away`, project)
  const answered = await world.call('POST', `/escalations/${rows[0].number}/answer`, { verdict: 'allow' })
  assert.equal(answered.status, 200, JSON.stringify(answered.body))
  await world.when(id, isComplete)
})

test('a session that was started to resume a conversation still does after it had to wait before it began', async t => {
  const agent = scriptedAgent()
  const opened: unknown[] = []
  const { open } = agent.driver
  agent.driver.open = options => {
    opened.push(options.resume)
    return open(options)
  }
  const world = await scriptedWorld(t, agent)
  await world.call('POST', '/quota/hold', {})
  const resume = { vendor_id: 'v-of-before', fork: true }
  const id = await world.start('first', { resume })
  await world.when(id, isLimited)
  await world.call('POST', '/quota/release', {})
  await world.when(id, isComplete)
  assert.deepEqual(opened, [{ vendorId: 'v-of-before', fork: true }])
  assert.deepEqual(agent.prompts, ['first'])
})

test('a session at work stops after the tool in flight when its account is held, and goes on when the account is released', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent)
  const there = agent.holdAt('tool')
  const id = await world.start('first')
  const goOn = await there
  assert.equal((await world.call('POST', '/quota/hold', {})).status, 200)
  goOn()
  assert.match((await world.when(id, isLimited)).reason ?? '', /held by human/)
  assert.equal(agent.calls(), 1)
  await world.call('POST', '/quota/release', {})
  await world.when(id, isComplete)
})

for (const [what, failure] of [
  ['a try after a failure', { kind: 'overloaded', message: 'overloaded' }],
  ['a try after a limit without a reset', refusal()],
] as const) {
  test(`${what} is not delayed by a clock that is set back a day`, async t => {
    const agent = scriptedAgent((_prompt, calls) => (calls === 0 ? { failure: failure as Failure } : {}))
    const world = await scriptedWorld(t, agent, { PCC_SESSIONS_RETRY_SECONDS: '5' })
    const id = await world.start('first')
    await world.ended(id, 1)
    world.pass(-DAY)
    await world.when(id, isComplete)
  })
}

test('a task that is completed before its session has to wait is done in the checkpoint', async t => {
  const agent = scriptedAgent(prompt => (prompt === 'first' ? { used: 0.95 } : {}))
  const world = await scriptedWorld(t, agent)
  const there = agent.holdAt('last request')
  const id = await world.start('first')
  const goOn = await there
  await world.call('POST', `/sessions/${id}/tasks`, { task: 'second' })
  goOn()
  await world.when(id, isLimited)
  const { body } = await world.call('GET', `/sessions/${id}/checkpoints`)
  const newest = await world.call('GET', `/sessions/${id}/checkpoints/${body.checkpoints[0].id}`)
  const { queue, next_action } = newest.body.checkpoint
  assert.deepEqual(queue, [
    { title: 'first', state: 'done' },
    { title: 'second', state: 'ready' },
  ])
  assert.equal(next_action, 'second')
})
