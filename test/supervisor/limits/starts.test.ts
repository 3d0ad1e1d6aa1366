import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { openStore } from '../../../src/store/open.ts'
import { StartBarrier } from '../../../src/supervisor/limits/start-barrier.ts'
import { Waker } from '../../../src/supervisor/limits/waker.ts'
import { tempDir } from '../../support/world.ts'

/** Wakes sessions whose time has come, and returns what happened to them, in order. */
async function woken(t: TestContext, count: number): Promise<string[]> {
  const store = await openStore({ file: join(tempDir(t), 'store.db') })
  t.after(() => store.close())
  for (let n = 1; n <= count; n += 1) {
    await store.sessions.insert({ id: `s-${n}`, name: `n${n}`, project: '/p', task: 't', agent: 'claude' })
    await store.sessions.update(`s-${n}`, { state: 'ended', ended_as: 'paused', ended_at: n, resumes_at: n })
  }
  const starts = new StartBarrier()
  const log: string[] = []
  const started: Promise<unknown>[] = []
  const all = Promise.withResolvers<void>()
  const waker = new Waker({
    ...{ store, clock: systemClock, log: silentLog, tryMended: async () => {}, hold: () => starts.hold() },
    async wake({ id }) {
      log.push(`resumed ${id}`)
      started.push(starts.free().then(() => log.push(`started ${id}`)))
      await store.sessions.update(id, { resumes_at: null })
      await nextTurn()
      if (started.length === count) all.resolve()
    },
  })
  waker.poke()
  await all.promise
  await waker.close()
  await Promise.all(started)
  return log
}

test('of many sessions whose time has come all are resumed before an agent is started', async t => {
  assert.deepEqual(await woken(t, 3), [
    'resumed s-1',
    'resumed s-2',
    'resumed s-3',
    'started s-1',
    'started s-2',
    'started s-3',
  ])
})

test('one session alone is started at once', async t => {
  assert.deepEqual(await woken(t, 1), ['resumed s-1', 'started s-1'])
})

test('agents do not wait for long when the other sessions are slow to resume', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const starts = new StartBarrier()
  starts.hold()
  let isFree = false
  const free = starts.free().then(() => {
    isFree = true
  })
  t.mock.timers.tick(1_499)
  await nextTurn()
  assert.equal(isFree, false)
  t.mock.timers.tick(1)
  await free
  assert.equal(isFree, true)
})

test('a waker looks again by itself when the next session is due', async t => {
  await using store = await openStore({ file: join(tempDir(t), 'db') })
  const now = 1_768_300_000_000
  const { id } = await store.sessions.insert({ id: 's-1', name: 's-1', project: '/p', task: 't', agent: 'none' })
  await store.sessions.update(id, {
    ...{ state: 'ended', ended_as: 'rate_limited', ended_at: now, resumes_at: now + 5_000 },
  })
  const hold = () => new StartBarrier().hold()
  const waker = new Waker({
    store,
    clock: { now: () => now },
    log: silentLog,
    hold,
    tryMended: async () => {},
    wake: () => assert.fail('early'),
  })
  const timers = t.mock.method(globalThis, 'setTimeout')
  await waker.poke()
  await waker.close()
  assert.ok(timers.mock.calls.some(({ arguments: [, ms] }) => ms === 5_000))
})
