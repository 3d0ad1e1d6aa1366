import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import type { Driver, OpenSession } from '../../../src/domain/session.ts'
import type { LiveSession } from '../../../src/supervisor/session/context.ts'
import type { PreparedSession } from '../../../src/supervisor/session/prepare.ts'
import { WarmMarkers, WarmProcesses } from '../../../src/supervisor/session/warm-processes.ts'
import { tempDir } from '../../support/world.ts'

const GB = 1024 ** 3

/** A driver that only records its calls, and one run whose first session is open or not. */
function deps(t: TestContext, { isOpen = true } = {}) {
  const waiting = new Set<string>()
  const driver = {
    warm: async ({ marker = '' }: OpenSession) => void waiting.add(marker),
    cool: async ({ marker = '' }: OpenSession) => void waiting.delete(marker),
  } as Driver
  const opened = Promise.withResolvers<void>()
  const machine = { crowded: false, available: 4 * GB }
  const markers = new WarmMarkers(tempDir(t))
  const warm = new WarmProcesses({
    markers,
    log: silentLog,
    liveSession: id =>
      id === 's-1' ? ({ control: { opened }, agent: { ...(isOpen && { session: {} }) } } as LiveSession) : undefined,
    prepare: async () => ({ driver, open: {} }) as PreparedSession,
    isCrowded: () => machine.crowded,
    availableMemory: () => machine.available,
  })
  t.after(() => warm.close())
  const request = { project: '/p', task: 'x', env: {}, run: { id: 'r-1', iteration: 2, total: 3 } }
  const expect = (at = 's-1') => warm.expect({ session: at, request, inWorktree: false })
  return { warm, waiting, driver, machine, markers, opened, expect }
}

test('no process is started before the agent of the current task is open, nor when it never opens', async t => {
  const { warm, waiting, opened, expect } = deps(t)
  const expected = expect()
  assert.deepEqual([waiting.size, warm.markerFor('r-1')], [0, undefined])
  opened.resolve()
  await expected
  assert.deepEqual([...waiting], [warm.markerFor('r-1')])
  const shut = deps(t, { isOpen: false })
  shut.opened.resolve()
  await shut.expect()
  assert.equal(shut.waiting.size, 0)
  const gone = deps(t)
  await gone.expect('s-9')
  assert.equal(gone.waiting.size, 0)
})

test('no process is started while others wait for a place, or with less than a gigabyte of memory', async t => {
  for (const state of [{ crowded: true }, { available: GB - 1 }]) {
    const { waiting, machine, opened, expect } = deps(t)
    Object.assign(machine, state)
    opened.resolve()
    await expect()
    assert.equal(waiting.size, 0, JSON.stringify(state))
  }
})

test('when memory becomes short, waiting processes are ended, and not started again for the same iteration', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { warm, waiting, machine, markers, opened, expect } = deps(t)
  opened.resolve()
  await expect()
  machine.available = GB / 2 - 1
  t.mock.timers.tick(5_000)
  assert.equal(waiting.size, 0)
  machine.available = 4 * GB
  await expect()
  assert.deepEqual([waiting.size, warm.markerFor('r-1'), markers.all()], [0, undefined, []])
})

test('a process that is dropped while it is prepared is not started', async t => {
  const { warm, waiting, markers, opened, expect } = deps(t)
  const expected = expect()
  await warm.drop('r-1')
  opened.resolve()
  await expected
  assert.deepEqual([waiting.size, markers.all()], [0, []])
})

test('a process of another driver than that of the session is ended before the session begins', async t => {
  const { warm, waiting, driver, markers, opened, expect } = deps(t)
  opened.resolve()
  await expect()
  await warm.taken('r-1', { ...driver })
  assert.deepEqual([waiting.size, markers.all(), warm.markers()], [0, [], []])
})
