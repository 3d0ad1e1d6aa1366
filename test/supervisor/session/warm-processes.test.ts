import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { Driver, OpenSession, Session } from '../../../src/domain/session.ts'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { openStore } from '../../../src/store/open.ts'
import type { LiveSessionEnding } from '../../../src/supervisor/session/context.ts'
import type { PreparedSession } from '../../../src/supervisor/session/prepare.ts'
import { WarmMarkers, WarmProcesses } from '../../../src/supervisor/session/warm-processes.ts'
import { openWorktreeProvider } from '../../../src/supervisor/session/worktree-provider.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'
import { aLiveSession } from './live-session.ts'

const GB = 1024 ** 3

/** A driver that only records its calls, and one run whose first session is open or not. */
function deps(t: TestContext, { isOpen = true, mayServeAnother = false } = {}) {
  const waiting = new Set<string>()
  const released: string[] = []
  const driver = {
    warm: async ({ marker = '' }: OpenSession) => void waiting.add(marker),
    cool: async ({ marker = '' }: OpenSession) => void waiting.delete(marker),
  } as Driver
  const opened = Promise.withResolvers<void>()
  const current = aLiveSession()
  current.row.options = { ...current.row.options, run: { id: 'r-1', iteration: 1, total: 3 } }
  Object.assign(current.control, { opened })
  const last = Promise.withResolvers<boolean>()
  const session = { mayServeAnother, servesNoOther: last.promise, release: async () => undefined } as unknown as Session
  if (isOpen) current.agent.session = session
  const machine = { crowded: false, available: 4 * GB, free: 1 }
  const markers = new WarmMarkers(tempDir(t))
  const warm = new WarmProcesses({
    markers,
    log: silentLog,
    liveSession: id => (id === 's-1' ? current : undefined),
    prepare: async () => {
      const sandbox = {} as NonNullable<OpenSession['sandbox']>
      return { driver, open: { sandbox }, sandboxIn: async () => sandbox } as unknown as PreparedSession
    },
    worktrees: {
      reserve: async wanted =>
        ({ ...wanted, branch: 'b', target: 'main', base: 'x', top: '/w', directory: '/w' }) as Worktree,
      release: async worktree => void released.push(worktree.task),
    },
    isCrowded: () => machine.crowded,
    availableMemory: () => machine.available,
    freeCores: async () => machine.free,
  })
  t.after(() => warm.close())
  const request = { project: '/p', task: 'x', env: {}, run: { id: 'r-1', iteration: 2, total: 3 } }
  const worktree = { project: '/p', task: 't-000001', attempt: 1 }
  const expect = (at = 's-1') => warm.expect({ session: at, request, worktree, freeCores: 1 })
  return { warm, released, waiting, driver, machine, markers, opened, last, expect }
}

test('no process is started before the agent of the current task is open, nor when it never opens', async t => {
  const { warm, waiting, opened, expect } = deps(t)
  const expected = expect()
  assert.deepEqual([waiting.size, warm.markerFor('r-1', '/p')], [0, undefined])
  opened.resolve()
  await expected
  assert.deepEqual([...waiting], [warm.markerFor('r-1', '/p')])
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
  assert.deepEqual([waiting.size, warm.markerFor('r-1', '/p'), markers.all()], [0, undefined, []])
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
  await warm.taken('r-1', { marker: warm.markerFor('r-1', '/p') ?? null, driver: { ...driver }, folder: '/p' })
  assert.deepEqual([waiting.size, markers.all(), warm.markers()], [0, [], []])
})

test('a process is ended when a session of another run works in the worktree that it waits in', async t => {
  const { warm, waiting, released, opened, expect } = deps(t)
  opened.resolve()
  await expect()
  await warm.dropOthersIn({ top: '/elsewhere' }, 'r-2')
  await warm.dropOthersIn({ top: '/w' }, 'r-1')
  assert.deepEqual([waiting.size, released], [1, []])
  await warm.dropOthersIn({ top: '/w' }, 'r-2')
  assert.deepEqual([waiting.size, warm.markers(), released], [0, [], ['t-000001']])
})

/** A session of the run that has ended well, and what was asked of its process. */
function ended(driver: Driver, { doubt, run = 'r-1' }: { doubt?: string; run?: string } = {}) {
  const live = aLiveSession()
  live.row.options = { ...live.row.options, run: { id: run, iteration: 1, total: 3 } }
  live.settings.driver = driver
  live.settings.open = { ...live.settings.open, cwd: '/p', marker: `marker-of-${run}` }
  const released: string[] = []
  const release = async () => {
    released.push(run)
    return doubt
  }
  const session = { release, served: 0 } as unknown as Session
  return { live, session, released, ending: { as: 'completed', reason: '' } as LiveSessionEnding }
}

test('the process of a session that ended well is kept for the next one of its run in the same folder', async t => {
  const { warm, driver, markers, opened, expect, waiting } = deps(t)
  const { live, session, ending } = ended(driver)
  assert.equal(await warm.keep(live, session, ending), true)
  assert.deepEqual(markers.all(), ['marker-of-r-1'], 'a daemon that is killed now leaves word of it')
  assert.deepEqual(warm.markers(), ['marker-of-r-1'])
  opened.resolve()
  await expect()
  assert.equal(waiting.size, 0, 'no other is started beside it')
  assert.deepEqual([warm.markerFor('r-1', '/q'), warm.markerFor('r-2', '/p')], [undefined, undefined])
  const marker = warm.markerFor('r-1', '/p')
  assert.equal(marker, 'marker-of-r-1')
  await warm.taken('r-1', { marker: marker ?? null, driver, folder: '/p' })
  assert.deepEqual([markers.all(), warm.markers(), warm.markerFor('r-1', '/p')], [[], [], undefined])
})

test('a process in doubt is not kept, and no word of it stays', async t => {
  const { warm, driver, markers } = deps(t)
  const doubtful = ended(driver, { doubt: 'something still runs' })
  assert.equal(await warm.keep(doubtful.live, doubtful.session, doubtful.ending), false)
  const stopped = ended(driver)
  assert.equal(await warm.keep(stopped.live, stopped.session, { ...stopped.ending, as: 'stopped' }), false)
  assert.deepEqual([stopped.released, markers.all(), warm.markers()], [[], [], []])
})

test('a kept process is ended when its run is dropped, when memory is short, for another driver, and with the daemon', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const ways: ((world: ReturnType<typeof deps>) => Promise<unknown> | undefined)[] = [
    ({ warm }) => warm.drop('r-1'),
    ({ machine }) => {
      machine.available = GB / 2 - 1
      t.mock.timers.tick(5_000)
      return undefined
    },
    ({ warm, driver }) => warm.taken('r-1', { marker: 'marker-of-r-1', driver: { ...driver }, folder: '/p' }),
    ({ warm }) => warm.dropOthersIn({ top: '/p' }, 'r-2'),
    ({ warm }) => warm.dropKeptIn('/p'),
    ({ warm }) => warm.close(),
  ]
  for (const way of ways) {
    const world = deps(t)
    const { live, session, ending } = ended(world.driver)
    world.waiting.add('marker-of-r-1')
    await world.warm.keep(live, session, ending)
    await way(world)
    await new Promise(resolve => setImmediate(resolve))
    assert.deepEqual([world.waiting.size, world.markers.all(), world.warm.markers()], [0, [], []], String(way))
  }
})

test('no process is started ahead while the one at work will probably be used again, nor while no core is free', async t => {
  const { warm, waiting, machine, opened, last, expect } = deps(t, { mayServeAnother: true })
  opened.resolve()
  const expected = expect()
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual([waiting.size, warm.markerFor('r-1', '/p')], [0, undefined])
  last.resolve(false)
  await expected
  assert.equal(waiting.size, 0)
  const busy = deps(t)
  busy.machine.free = 0.9
  busy.opened.resolve()
  await busy.expect()
  assert.deepEqual([busy.waiting.size, machine.free], [0, 1])
})

test('a process is started ahead as soon as the one at work will not be used again, unless its run is over', async t => {
  for (const isOver of [false, true]) {
    const { warm, waiting, opened, last, expect } = deps(t, { mayServeAnother: true })
    opened.resolve()
    const expected = expect()
    if (isOver) await warm.drop('r-1')
    last.resolve(true)
    await expected
    assert.equal(waiting.size, isOver ? 0 : 1)
  }
})

test('a worktree that is reserved, made and released at the same time is made once, and stays', async t => {
  const home = tempDir(t)
  const store = await openStore({ file: join(home, 'store.db') })
  t.after(() => store.close())
  const env = bareEnv(home)
  const provider = openWorktreeProvider({
    paths: appPathsFor({ env }),
    env,
    store,
    clock: { now: Date.now },
    log: silentLog,
  })
  const wanted = { project: gitProject(t), task: 't-000001', attempt: 1 }
  const settings = { settings: {} }
  const [made, again] = await Promise.all([
    provider.make(wanted, settings),
    provider.make(wanted, settings),
    provider.reserve(wanted, settings),
  ])
  assert.ok('top' in made && 'top' in again)
  assert.equal(again.top, made.top)
  const next = { ...wanted, task: 't-000002' }
  const worktree = await provider.reserve(next, settings)
  assert.ok(worktree)
  const [, second] = await Promise.all([provider.release(worktree), provider.make(next, settings)])
  assert.ok('top' in second && existsSync(join(second.top, 'README.md')))
  const rows = await store.worktrees.list()
  assert.deepEqual(
    rows.map(({ state, ended_at }) => [state, ended_at]),
    [
      ['live', null],
      ['live', null],
    ],
  )
})
