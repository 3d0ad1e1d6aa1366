import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import type { Failure } from '../../../src/domain/session.ts'
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

/** So many sessions of one account, all at a gate that one of them has shut. */
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

test('tried now and answered: one goes first, the others follow within two minutes, and the count of probes is over', async t => {
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
  test(`tried now and refused ${what}: one call, then everybody waits again, the longer for it`, async t => {
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
    assert.equal(agent.calls(), calls + 1, 'the times of the trial are forgotten')
  })
}

test('while one tries, a session that is started then waits for its first answer, and not for its end', async t => {
  let refuses = true
  const agent = scriptedAgent(() => (refuses ? { refused: refusal(Date.now() + DAY) } : {}))
  const world = await scriptedWorld(t, agent)
  const [first = ''] = await waitingAtGate(world, 1)
  refuses = false
  const there = agent.holdAt('starting')
  await world.call('POST', '/quota/release', { now: true })
  const goOn = await there
  const other = await world.start('task 1')
  const { queued } = await world.view(other)
  assert.equal(queued, true)
  assert.equal(agent.open(), 1)
  const atWork = agent.holdAt('tool')
  goOn()
  const finish = await atWork
  await world.when(other, isComplete)
  finish()
  await world.when(first, isComplete)
})

test('one that was held back in the middle of its tool does not keep the account from being tried', async t => {
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
  // All scripted agents share one conversation, which no two can go on with at once: a new one tries.
  await world.call('POST', `/sessions/${limited}/hold`, { held: true })
  refuses = false
  await world.call('POST', '/quota/release', { now: true })
  await world.when(await world.start('tries it'), isComplete)
  finish()
  await world.when(atWork, isComplete)
})

test('an allowance that was told to be used up holds nobody back once a person has it tried', async t => {
  const agent = scriptedAgent(prompt => (prompt === 'first' ? { used: 0.95 } : {}))
  const world = await scriptedWorld(t, agent)
  await world.when(await world.start('first'), isComplete)
  const id = await world.start('second')
  assert.equal((await world.view(id)).queued, true)
  await world.call('POST', '/quota/release', { now: true })
  await world.when(id, isComplete)
  await world.when(await world.start('third'), isComplete)
})

test('what a person holds is not let go by a trial of its account, and is not the one that tries', async t => {
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
