import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import type { Failure, SessionEvent } from '../../../src/domain/session.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from './scripted-world.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

const isLimited = ({ status }: SessionView) => status === 'rate_limited'
const isComplete = ({ status }: SessionView) => status === 'completed'

function refusal(resetsAt?: number): Failure {
  const limit = { source: 'result', message: 'full', ...(resetsAt !== undefined && { resetsAt }) } as const
  return { kind: 'limit', message: 'full', limit }
}

/** Sessions of one account that all wait at a gate which one of them has closed. */
async function waitingAtGate(world: ScriptedWorld, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const id = await world.start(`task ${n}`)
    await world.when(id, isLimited)
    ids.push(id)
  }
  return ids
}

async function gateOf(world: ScriptedWorld) {
  return (await world.call('GET', '/quota')).body.accounts[0].gate
}

test('when a trial is answered, one session goes first, the others follow within two minutes, and the count of probes ends', async t => {
  let refuses = true
  const agent = scriptedAgent(() => (refuses ? { refused: refusal() } : {}))
  const world = await scriptedWorld(t, agent)
  const ids = await waitingAtGate(world, 3)
  assert.equal((await gateOf(world)).probes, 1)
  refuses = false
  const { body } = await world.call('POST', '/quota/release', { now: true })
  assert.deepEqual(body.tried[0].sessions, ids)
  await world.when(ids[0] ?? '', isComplete)
  assert.deepEqual([(await gateOf(world)).closed_until, (await gateOf(world)).probes], [null, 0])
  for (const id of ids.slice(1)) assert.ok(isLimited(await world.view(id)))
  world.pass(2 * MINUTE)
  for (const id of ids.slice(1)) await world.when(id, isComplete)
})

for (const [what, resets] of [
  ['without a reset', undefined],
  ['until a far reset', 3 * DAY],
] as const) {
  test(`when a trial is refused ${what}, there is one call, and then all wait again, for longer`, async t => {
    const agent = scriptedAgent(() => ({ refused: refusal(resets && Date.now() + resets) }))
    const world = await scriptedWorld(t, agent)
    const ids = await waitingAtGate(world, 3)
    const calls = agent.calls()
    await world.call('POST', '/quota/release', { now: true })
    await world.ended(ids[0] ?? '', 2)
    assert.equal(agent.calls(), calls + 1)
    const gate = await gateOf(world)
    assert.ok(gate.closed_until - gate.closed_at >= (resets ?? 2 * MINUTE) - 1000)
    for (const id of ids) assert.ok(((await world.view(id)).resumes_at ?? 0) > gate.closed_until)
    world.pass(1.5 * MINUTE)
    assert.equal(agent.calls(), calls + 1, 'the times of the trial no longer count')
  })
}

/** The vendor counts what its model has answered, right after the answer. */
const ANSWERED: SessionEvent = {
  kind: 'usage',
  ...{ inputTokens: 9, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 },
}

test('a session that is started during a trial waits for the first answer of the trial, not for its end', async t => {
  let refuses = true
  const agent = scriptedAgent(() => (refuses ? { refused: refusal(Date.now() + DAY) } : { tells: [ANSWERED] }))
  const world = await scriptedWorld(t, agent)
  const [first = ''] = await waitingAtGate(world, 1)
  refuses = false
  const there = agent.holdAt('starting')
  await world.call('POST', '/quota/release', { now: true })
  const goOn = await there
  const other = await world.start('task 1')
  const { queued, reason } = await world.view(other)
  assert.deepEqual([queued, reason], [true, 'waits until another session has tried the account (pcc quota)'])
  assert.equal(agent.open(), 1)
  const atWork = agent.holdAt('tool')
  goOn()
  const finish = await atWork
  await world.when(other, isComplete)
  finish()
  await world.when(first, isComplete)
})

test('a session that was held back in the middle of its tool does not keep the account from being tried', async t => {
  let refuses = true
  const agent = scriptedAgent(prompt =>
    refuses && prompt === 'meets it' ? { refused: refusal(Date.now() + DAY) } : {},
  )
  const world = await scriptedWorld(t, agent)
  const there = agent.holdAt('tool')
  const atWork = await world.start('works long')
  const finish = await there
  const limited = await world.start('meets it')
  await world.when(limited, isLimited)
  // All scripted agents share one conversation, which two cannot resume at once, so a new session tries.
  await world.call('POST', `/sessions/${limited}/hold`, { held: true })
  refuses = false
  await world.call('POST', '/quota/release', { now: true })
  await world.when(await world.start('tries it'), isComplete)
  finish()
  await world.when(atWork, isComplete)
})

test('an allowance that was reported as used up holds nobody back once a person tries the account', async t => {
  const agent = scriptedAgent(prompt => (prompt === 'first' ? { used: 0.95 } : {}))
  const world = await scriptedWorld(t, agent)
  await world.when(await world.start('first'), isComplete)
  const id = await world.start('second')
  assert.equal((await world.view(id)).queued, true)
  await world.call('POST', '/quota/release', { now: true })
  await world.when(id, isComplete)
  await world.when(await world.start('third'), isComplete)
})

test('a session that a person holds is not released by a trial of its account, and does not try', async t => {
  let refuses = true
  const agent = scriptedAgent(() => (refuses ? { refused: refusal(Date.now() + DAY) } : {}))
  const world = await scriptedWorld(t, agent)
  const [held = '', free = ''] = await waitingAtGate(world, 2)
  await world.call('POST', `/sessions/${held}/hold`, { held: true })
  refuses = false
  const { body } = await world.call('POST', '/quota/release', { now: true })
  assert.deepEqual(body.tried[0].sessions, [free])
  await world.when(free, isComplete)
  assert.ok(isLimited(await world.view(held)))
  await world.call('POST', `/sessions/${held}/hold`, { held: false })
  await world.when(held, isComplete)
})
