import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { OpenSession } from '../../../src/domain/session.ts'
import { type ScriptedAgent, scriptedAgent, type Turn } from '../../supervisor/session/scripted-agent.ts'
import { runWorld } from './run-world.ts'

// While a task of a run is at work, the agent of the next one is started; a process that will not be used is not kept.

interface Warmed {
  agent: ScriptedAgent
  /** Every process that was started ahead of time. */
  started: OpenSession[]
  /** Markers of the processes that wait. */
  waiting: Set<string>
  /** The processes with which a session was opened. */
  taken: string[]
  /** Resolves with the last one when so many have been started. */
  warm(count: number): Promise<OpenSession>
}

function warmed(turnFor?: (prompt: string, call: number) => Turn): Warmed {
  const agent = scriptedAgent(turnFor)
  const started: OpenSession[] = []
  const waiting = new Set<string>()
  const taken: string[] = []
  const looking: (() => void)[] = []
  const { driver } = agent
  agent.driver = {
    ...driver,
    async open(options) {
      if (waiting.delete(options.marker ?? '')) taken.push(options.id)
      return driver.open(options)
    },
    async warm(options) {
      started.push(options)
      waiting.add(options.marker ?? '')
      for (const look of looking.splice(0)) look()
    },
    async cool(options) {
      waiting.delete(options.marker ?? '')
    },
  }
  return {
    agent,
    started,
    waiting,
    taken,
    async warm(count) {
      while (started.length < count) await new Promise<void>(resolve => looking.push(resolve))
      const last = started[count - 1]
      assert.ok(last)
      return last
    },
  }
}

async function world(t: TestContext, { agent }: Warmed, tasks: string[]) {
  const opened = await runWorld(t, agent)
  for (const title of tasks) await opened.add(title)
  return {
    ...opened,
    /** Markers of processes without a row, as the next daemon would find them. */
    noted: () => {
      const dir = join(opened.runDir, 'warm')
      return existsSync(dir) ? readdirSync(dir) : []
    },
  }
}

test('every task but the first is taken up by a process that was started while the one before it worked', async t => {
  const warmth = warmed()
  const { run, over, noted, store } = await world(t, warmth, ['one', 'two', 'three'])
  const held = warmth.agent.holdAt('tool')
  const { id } = await run()
  const goOn = await held
  const first = await warmth.warm(1)
  assert.deepEqual([first.model, first.env['PCC_ITERATION'], first.env['PCC_TOTAL']], ['haiku', '2', '3'])
  assert.deepEqual(noted(), [first.marker], 'a daemon that is killed now leaves word of it')
  warmth.agent.holdAt('tool').then(async next => {
    await warmth.warm(2)
    next()
  })
  goOn()
  assert.equal((await over(id)).outcome, 'complete')
  const attempts = await store.runs.attempts({ run: id })
  assert.deepEqual(
    warmth.taken,
    attempts.slice(1).map(({ session_id }) => session_id),
  )
  assert.equal(warmth.started.length, 2, 'none for a task that does not exist')
  assert.deepEqual([[...warmth.waiting], noted()], [[], []])
})

test('a task that comes after the current one is prepared for as well', async t => {
  const warmth = warmed()
  const { run, over, add } = await world(t, warmth, ['one'])
  await add('two', { after: ['one'] })
  const held = warmth.agent.holdAt('tool')
  const { id } = await run()
  const goOn = await held
  await warmth.warm(1)
  goOn()
  await over(id)
  assert.equal(warmth.taken.length, 1)
})

test('a run that is paused or stopped, or whose session waits, keeps no process', async t => {
  const refused = { kind: 'limit', message: 'limited', limit: { resetsAt: Date.now() + 3_600_000 } } as const
  const ways: Record<string, { turn?: Turn; path?: string }> = {
    pause: { path: 'pause' },
    stop: { path: 'stop' },
    question: { turn: { asks: true } },
    limit: { turn: { failure: refused as never } },
  }
  for (const [name, { turn, path }] of Object.entries(ways)) {
    const warmth = warmed(() => turn ?? {})
    const { run, call, noted, since } = await world(t, warmth, ['one', 'two'])
    const held = warmth.agent.holdAt('tool')
    const { id } = await run()
    const goOn = await held
    await warmth.warm(1)
    assert.equal(warmth.waiting.size, 1, name)
    const steered = path && call('POST', `/runs/${id}/${path}`)
    if (path) while (warmth.waiting.size > 0) await new Promise(resolve => setImmediate(resolve))
    goOn()
    await steered
    await since(id, ({ kind }) => kind === 'session.ended')
    while (warmth.waiting.size > 0) await new Promise(resolve => setImmediate(resolve))
    assert.deepEqual([warmth.started.length, noted()], [1, []], name)
  }
})

test('a task that waits for an answer does not keep the ones after the next from being prepared for', async t => {
  const warmth = warmed(prompt => (prompt.includes('one') ? { asks: true } : {}))
  const { run, since } = await world(t, warmth, ['one', 'two', 'three'])
  const first = warmth.agent.holdAt('tool')
  const { id } = await run()
  const second = await first.then(goOn => {
    const held = warmth.agent.holdAt('tool')
    goOn()
    return held
  })
  await since(id, ({ kind }) => kind === 'session.ended')
  while (warmth.started.at(-1)?.env['PCC_ITERATION'] !== '3') await warmth.warm(warmth.started.length + 1)
  assert.equal(warmth.started.at(-1)?.env['PCC_ITERATION'], '3')
  second()
})

test('a guess about the model that does not come true is put right by a cold start', async t => {
  const says = () => 'Two is hard.\n<next-model>opus</next-model>'
  const warmth = warmed(prompt => (prompt.includes('one') ? { says } : {}))
  const { run, over, store } = await world(t, warmth, ['one', 'two'])
  const held = warmth.agent.holdAt('tool')
  const { id } = await run()
  const goOn = await held
  assert.equal((await warmth.warm(1)).model, 'haiku')
  goOn()
  await over(id)
  const [, second] = await store.runs.attempts({ run: id })
  assert.equal(second?.model, 'opus')
})

test('execution.warm = false keeps the next agent from being started', async t => {
  const expected = async (settings: Record<string, string>) => {
    const warmth = warmed()
    const { run, supervisor } = await world(t, warmth, ['one', 'two'])
    const held = warmth.agent.holdAt('tool')
    await run({ settings })
    const goOn = await held
    await supervisor.runs.close()
    goOn()
    return supervisor.liveMarkers().length - 1
  }
  assert.equal(await expected({}), 1)
  assert.equal(await expected({ PCC_EXECUTION_WARM: 'false' }), 0)
})

test('the next agent is not started early while no processor core is free, unless execution.warm_cores says so', async t => {
  const started = async (settings: Record<string, string>, expected: number) => {
    const warmth = warmed()
    const { run, over, cores } = await world(t, warmth, ['one', 'two'])
    cores.free = 0.9
    const held = warmth.agent.holdAt('tool')
    const { id } = await run({ settings })
    const goOn = await held
    if (expected > 0) await warmth.warm(expected)
    goOn()
    await over(id)
    return warmth.started.length
  }
  assert.equal(await started({}, 0), 0)
  assert.equal(await started({ PCC_EXECUTION_WARM_CORES: '0' }, 1), 1)
})

test('the daemon ends what waits before it goes', async t => {
  const warmth = warmed()
  const { run, supervisor, noted } = await world(t, warmth, ['one', 'two'])
  const held = warmth.agent.holdAt('tool')
  await run()
  await held
  const { marker } = await warmth.warm(1)
  assert.ok(supervisor.liveMarkers().includes(marker ?? ''), 'what withstands is swept like an agent')
  await supervisor.close('the test is over')
  assert.deepEqual([[...warmth.waiting], noted()], [[], []])
})
