import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  HOUR,
  isComplete,
  isLimited,
  limit,
  MINUTE,
  type Opened,
  type SeveralAgents,
  severalAgents,
} from './several-agents.ts'

/** Resolves when the session at work was asked to stop after the tool in flight. */
async function heldBack({ supervisor }: SeveralAgents, id: string): Promise<void> {
  while (supervisor.run(id)?.control.pausing !== 'gate') await new Promise(resolve => setImmediate(resolve))
}

const who = (opened: Opened[]) => opened.map(({ agent }) => agent)

test('a limit that lasts longer than it is waited for hands the task to the next agent at once, with a brief', async t => {
  const world = await severalAgents(t, { claude: call => (call < 2 ? { failure: limit(5 * HOUR) } : {}) })
  const id = await world.begin('write the parser')
  const view = await world.when(id, isComplete)
  assert.deepEqual(who(world.opened), ['claude', 'codex'])
  assert.deepEqual(world.together, [])
  const [, second] = world.opened
  assert.match(
    second?.prompt ?? '',
    /^HAND-OVER:\nClaude Code worked on this task before you.*a usage limit of its vendor/s,
  )
  assert.match(second?.prompt ?? '', /Files that are not committed:/)
  assert.match(second?.prompt ?? '', /write the parser/)
  assert.equal(second?.resume, undefined)
  assert.equal(view.agent, 'codex')
  assert.deepEqual(
    view.handed?.map(({ agent, why }) => [agent, why]),
    [['claude', 'limit']],
  )
  const changed = (await world.events(id)).flatMap(event => (event.kind === 'agent.changed' ? [event.body] : []))
  assert.deepEqual(
    changed.map(({ from, to, why }) => [from, to, why]),
    [['claude', 'codex', 'limit']],
  )
  const [task] = await world.store.tasks.list({})
  assert.deepEqual([task?.state, task?.attempt], ['done', 1])
})

test('a limit within the threshold is waited for; failover.after_minutes says how long that is', async t => {
  const claude = (call: number) => (call < 2 ? { failure: limit(10 * MINUTE) } : {})
  const patient = await severalAgents(t, { claude })
  const id = await patient.begin()
  await patient.when(id, isLimited)
  patient.pass(11 * MINUTE)
  await patient.when(id, isComplete)
  assert.deepEqual(who(patient.opened), ['claude', 'claude'])
  const hasty = await severalAgents(t, { claude }, { settings: { PCC_FAILOVER_AFTER_MINUTES: '5' } })
  await hasty.when(await hasty.begin(), isComplete)
  assert.deepEqual(who(hasty.opened), ['claude', 'codex'])
})

test('of a limit without a reset the guessed wait counts: the task changes agents when that has grown beyond the threshold', async t => {
  const failure = { kind: 'limit', message: 'full', limit: { source: 'result', message: 'full' } } as const
  const world = await severalAgents(t, { claude: () => ({ failure }) })
  const id = await world.begin()
  for (const minutes of [1, 2, 4, 8]) {
    const tries = world.opened.length
    await world.when(id, isLimited)
    world.pass(minutes * 1.2 * MINUTE)
    while (world.opened.length <= tries) await new Promise(resolve => setImmediate(resolve))
  }
  await world.when(id, isComplete)
  assert.deepEqual(who(world.opened), [...Array(5).fill('claude'), 'codex'], 'the fifth wait would be 16 minutes')
})

test('a missing login is no limit: the next agent, the event and the books say what it was', async t => {
  const held = Promise.withResolvers<void>()
  const world = await severalAgents(t, {
    claude: () => ({ failure: { kind: 'auth', message: 'Please run /login' } }),
    codex: () => ({ until: held.promise }),
  })
  const id = await world.begin()
  await world.when(
    id,
    ({ agent, activity, status }) => agent === 'codex' && status === 'processing' && activity !== null,
  )
  assert.match(world.opened[1]?.prompt ?? '', /^HAND-OVER:\n.* had to stop: its account needs a login\./)
  assert.equal(world.supervisor.run(id)?.meters.afterLimit, false, 'its first answer is work')
  held.resolve()
  const { handed } = await world.when(id, isComplete)
  assert.deepEqual(
    handed?.map(({ agent, why, until }) => [agent, why, until]),
    [['claude', 'login', null]],
  )
  const changed = (await world.events(id)).flatMap(event => (event.kind === 'agent.changed' ? [event.body] : []))
  assert.deepEqual(
    changed.map(({ why, until }) => [why, until]),
    [['login', undefined]],
  )
})

test('without failover.agents nothing changes hands, and failover.on leaves limits alone where it does not name them', async t => {
  for (const settings of [{ PCC_FAILOVER_AGENTS: '' }, { PCC_FAILOVER_ON: 'outage' }]) {
    const world = await severalAgents(
      t,
      { claude: call => (call < 2 ? { failure: limit(5 * HOUR) } : {}) },
      { settings },
    )
    const id = await world.begin()
    await world.when(id, isLimited)
    world.pass(5 * HOUR + 10 * MINUTE)
    await world.when(id, isComplete)
    assert.deepEqual(who(world.opened), ['claude', 'claude'])
  }
})

test('when its vendor lets it work again the first agent goes on in its own conversation, with what the other did', async t => {
  const held = Promise.withResolvers<void>()
  const world = await severalAgents(t, {
    claude: call => (call < 2 ? { failure: limit(HOUR) } : {}),
    codex: () => ({ until: held.promise }),
  })
  const id = await world.begin()
  await world.when(
    id,
    ({ agent, activity, status }) => agent === 'codex' && status === 'processing' && activity !== null,
  )
  world.pass(HOUR + 10 * MINUTE)
  await world.supervisor.gatesChanged()
  await heldBack(world, id)
  held.resolve()
  const view = await world.when(id, isComplete)
  assert.deepEqual(who(world.opened), ['claude', 'codex', 'claude'])
  const back = world.opened[2]
  assert.equal(back?.resume, `v-${id}`)
  assert.match(back?.prompt ?? '', /^BACK AGAIN:\nYou had to stop, and Codex went on with this task meanwhile/)
  assert.match(back?.prompt ?? '', /What it said last:\n\| I begin\./)
  assert.equal(view.agent, 'claude')
  assert.deepEqual(world.together, [])
})

test('an agent that is not installed is passed over; where nobody is left the first is waited for', async t => {
  const claude = (call: number) => (call < 2 ? { failure: limit(5 * HOUR) } : {})
  const third = await severalAgents(t, { claude }, { installed: ['claude', 'opencode'] })
  await third.when(await third.begin(), isComplete)
  assert.deepEqual(who(third.opened), ['claude', 'opencode'])
  const none = await severalAgents(t, { claude }, { installed: ['claude'] })
  const id = await none.begin()
  await none.when(id, isLimited)
  none.pass(5 * HOUR + 10 * MINUTE)
  await none.when(id, isComplete)
  assert.deepEqual(who(none.opened), ['claude', 'claude'])
})

test('an agent that may not run unattended is never handed a task', async t => {
  const world = await severalAgents(
    t,
    { claude: call => (call < 2 ? { failure: limit(5 * HOUR) } : {}) },
    { settings: { PCC_FAILOVER_AGENTS: 'claude,gemini', PCC_AGENTS_SANDBOX: 'off' } },
  )
  const id = await world.begin()
  await world.when(id, isLimited)
  assert.deepEqual(who(world.opened), ['claude'])
})

test('one that was handed the task and cannot begin gives it back: nothing fails, and it is not asked again', async t => {
  const world = await severalAgents(
    t,
    {
      claude: call => (call < 2 ? { failure: limit(5 * HOUR) } : {}),
      codex: () => ({ refused: { kind: 'auth', message: 'not logged in' } }),
    },
    { installed: ['claude', 'codex'] },
  )
  const id = await world.begin()
  await world.when(id, ({ agent, handed, status }) => agent === 'claude' && handed !== undefined && status === 'paused')
  world.pass(5 * HOUR + 10 * MINUTE)
  await world.when(id, isComplete)
  assert.deepEqual(who(world.opened), ['claude', 'codex', 'claude'])
  const [task] = await world.store.tasks.list({})
  assert.equal(task?.state, 'done')
})

test('an outage hands the task over after the second failure in a row, and nobody returns within the threshold', async t => {
  const down = { failure: { kind: 'overloaded', message: 'overloaded' } } as const
  let tries = 0
  const world = await severalAgents(t, {
    claude: () => down,
    codex: () => (tries++ === 0 ? { failure: limit(5 * HOUR) } : {}),
  })
  const id = await world.begin()
  await world.ended(id, 1)
  assert.deepEqual(who(world.opened), ['claude'])
  world.pass(MINUTE)
  await world.when(id, isComplete)
  assert.deepEqual(who(world.opened), ['claude', 'claude', 'codex', 'opencode'])
  assert.deepEqual(world.together, [])
})

test('failover.cost_usd: an agent that has spent so much gives the task to the next', async t => {
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, turns: 1 }
  const held = Promise.withResolvers<void>()
  const world = await severalAgents(
    t,
    { claude: () => ({ tells: [{ kind: 'usage', ...usage, costUsd: 3 }], until: held.promise }) },
    { settings: { PCC_FAILOVER_COST_USD: '2' } },
  )
  const id = await world.begin()
  await world.when(id, ({ cost_usd }) => cost_usd === 3)
  await world.supervisor.gatesChanged()
  await heldBack(world, id)
  held.resolve()
  await world.when(id, isComplete)
  assert.deepEqual(who(world.opened), ['claude', 'codex'])
})

test('nobody takes over while something of the first agent is still alive', async t => {
  const world = await severalAgents(t, { claude: () => ({ failure: limit(5 * HOUR) }) })
  world.agents.claude.withstand()
  const id = await world.begin()
  await world.when(id, isLimited)
  assert.deepEqual(who(world.opened), ['claude'])
  assert.equal((await world.view(id)).agent, 'claude')
})
