import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import timers from 'node:timers/promises'
import { systemClock } from '../../../src/base/clock.ts'
import { AppError } from '../../../src/base/errors.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import type { SessionRow } from '../../../src/store/tables.ts'
import type { LiveSession, LiveSessionEnding, SessionDeps } from '../../../src/supervisor/session/context.ts'
import { claimParked } from '../../../src/supervisor/session/resume-parked.ts'
import {
  CUT_OFF,
  cutOffEnding,
  pauseWaitingSession,
  settleWithRetries,
  stopWaitingSession,
} from '../../../src/supervisor/session/settle.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { tempDir } from '../../support/world.ts'
import { openLives } from '../runs/lives.ts'
import { aLiveSession } from './live-session.ts'
import { scriptedAgent } from './scripted-agent.ts'

const ID = 's-000001'
const PARKED = { ask_id: 'a-1', call_id: 'c-1', questions: [], reason: 'nobody' }

const CLAIM = { id: ID, parked: PARKED, said: { answer: ['red'], by: 'human' } }

async function storeWith(t: TestContext, patch: Partial<SessionRow>): Promise<Store> {
  const store = await openStore({ file: join(tempDir(t), 'db') })
  t.after(() => store.close())
  const options = { project: '/p', task: 't' }
  await store.sessions.insert({
    id: ID,
    owner: 'boot-1',
    name: 'one',
    project: '/p',
    task: 't',
    agent: 'none',
    options,
    state: 'running',
  })
  await store.sessions.update(ID, patch)
  return store
}

/** The dependencies with a store whose next writes fail. */
function failing(store: Store, times: number, failure = new Error('disk full')): SessionDeps {
  let left = times
  const transaction: Store['transaction'] = work => (left-- > 0 ? Promise.reject(failure) : store.transaction(work))
  const broken = new Proxy(store, {
    get: (own, name) => (name === 'transaction' ? transaction : Reflect.get(own, name)),
  })
  return { store: broken, clock: systemClock } as unknown as SessionDeps
}

/** Settles a session as complete without really waiting; returns the lengths of the waits, and the error it gave up with. */
async function settleSoon(
  t: TestContext,
  live: LiveSession,
  deps: SessionDeps,
): Promise<{ waits: number[]; error?: unknown }> {
  const waits: number[] = []
  const slept = t.mock.method(timers, 'setTimeout', async (ms: number) => {
    waits.push(ms)
  })
  syncBuiltinESMExports()
  const ending = { as: 'completed', reason: 'done' } as const
  try {
    await settleWithRetries(live, deps, { ending, signal: new AbortController().signal })
    return { waits }
  } catch (error) {
    return { waits, error }
  } finally {
    slept.mock.restore()
    syncBuiltinESMExports()
  }
}

test('a session whose ending cannot be written is settled once, as soon as the store works again', async t => {
  const store = await storeWith(t, {})
  const live = aLiveSession()
  assert.deepEqual(await settleSoon(t, live, failing(store, 2)), { waits: [250, 1_000] })
  assert.equal((await store.sessions.get(ID))?.ended_as, 'completed')
  assert.equal(live.row.state, 'ended')
  assert.equal((await store.events({ subject: ID, kinds: ['session.ended'] })).length, 1)
})

test('a session is settled even if a full disk refuses its ending for hours; any other failure is thrown in the end', async t => {
  const store = await storeWith(t, {})
  const broken = new Error('broken')
  const givenUp = await settleSoon(t, aLiveSession(), failing(store, 1_000, broken))
  assert.deepEqual(givenUp, { waits: [250, 1_000, 4_000, 15_000, 30_000, 60_000], error: broken })
  const taken = new AppError('session_taken_over', { id: ID })
  assert.deepEqual(await settleSoon(t, aLiveSession(), failing(store, 1, taken)), { waits: [], error: taken })
  assert.equal(
    (await store.sessions.get(ID))?.state,
    'running',
    'another daemon has the session: nothing more is written',
  )

  const full = new AppError('store_unusable', { file: 'db', problem: 'the disk is full' })
  const { waits, error } = await settleSoon(t, aLiveSession(), failing(store, 300, full))
  assert.deepEqual([waits.length, error, (await store.sessions.get(ID))?.ended_as], [300, undefined, 'completed'])
  assert.deepEqual([...new Set(waits.slice(6))], [60_000], 'once a minute')
})

test('a failing store is reported at once when no time is left', async t => {
  const store = await storeWith(t, {})
  const ending = { as: 'completed', reason: 'done' } as const
  const live = aLiveSession()
  await assert.rejects(settleWithRetries(live, failing(store, 9), { ending, signal: AbortSignal.abort() }), /disk full/)
  assert.equal(live.row.state, 'running', 'what was not stored did not happen')
})

test('of two answers to a parked question one claims the session, and a stop that comes too late says so', async t => {
  const store = await storeWith(t, { state: 'ended', ended_as: 'waiting_input', parked: PARKED })
  const seen = await store.sessions.get(ID)
  assert.ok(seen)
  const claim = () =>
    claimParked({ store, clock: systemClock }, { ...CLAIM, patch: { state: 'starting', owner: 'boot-1' } })
  const tries = await Promise.allSettled([claim(), claim()])
  assert.deepEqual(tries.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  assert.equal(await stopWaitingSession(seen, store, 1), false)
  assert.equal((await store.sessions.get(ID))?.state, 'starting')
})

test('the task of a session that is stopped or paused while it waits no longer waits for what the session waited for', async t => {
  for (const [end, reason] of [
    [stopWaitingSession, 'stopped by a person'],
    [pauseWaitingSession, `paused by a person; go on with: pcc resume ${ID}`],
  ] as const) {
    const store = await storeWith(t, {})
    const tasks = openTasks({ store, clock: systemClock })
    const task = await store.transaction(tx => tasks.submit({ session_id: ID, project: '/p', text: 'one' }, tx))
    await store.transaction(tx => tasks.transition(task.id, { to: 'running' }, tx))
    await store.transaction(tx => tasks.transition(task.id, { to: 'waiting', reason: 'no login', wakesAt: 9 }, tx))
    await store.sessions.update(ID, { state: 'ended', ended_as: 'paused', resumes_at: 9, task_id: task.id })
    const seen = await store.sessions.get(ID)
    assert.ok(seen && (await end(seen, store, 1)))
    const { state, reason: why, wakes_at } = (await store.tasks.get(task.id)) ?? {}
    assert.deepEqual([state, why, wakes_at], ['waiting', reason, null])
  }
})

test('an answer that comes after a stop claims nothing', async t => {
  const store = await storeWith(t, { state: 'ended', ended_as: 'waiting_input', parked: PARKED })
  const seen = await store.sessions.get(ID)
  assert.ok(seen && (await stopWaitingSession(seen, store, 1)))
  const claim = claimParked({ store, clock: systemClock }, { ...CLAIM, patch: { state: 'starting' } })
  await assert.rejects(claim, { code: 'ask_unknown' })
  assert.equal((await store.sessions.get(ID))?.ended_as, 'stopped')
})

const turn = () => new Promise(resolve => setImmediate(resolve))

const NOW = 1_768_300_000_000
const STOPPED: LiveSessionEnding = {
  as: 'stopped',
  reason: 'the daemon was stopped',
  task: { to: 'waiting', reason: 'stopped' },
}

test('a session that its daemon cuts off goes on under the next daemon, unless a person paused it', () => {
  for (const pausing of [undefined, 'gate', 'guard'] as const) {
    const ending = cutOffEnding(STOPPED, aLiveSession({}, { cutOff: true, pausing }), NOW)
    assert.deepEqual([ending.as, ending.reason, ending.resumesAt], ['paused', CUT_OFF, NOW])
    assert.deepEqual(ending.task, { to: 'waiting', reason: CUT_OFF, wakesAt: NOW })
  }
  const live = aLiveSession({}, { cutOff: true, pausing: 'person' })
  const paused = cutOffEnding(STOPPED, live, NOW)
  assert.deepEqual([paused.as, paused.resumesAt], ['paused', undefined])
  assert.equal(paused.reason, `paused by a person; go on with: pcc resume ${live.id}`)
})

test('a task that was done, or that the session had not claimed, stays so when the daemon cuts the session off', () => {
  for (const task of [{ to: 'done', result: 'All done.' } as const, undefined]) {
    for (const pausing of [undefined, 'person'] as const) {
      const ending = cutOffEnding({ ...STOPPED, task }, aLiveSession({}, { cutOff: true, pausing }), NOW)
      assert.deepEqual(ending.task, task)
    }
  }
})

test('only a session that was stopped because its daemon leaves is cut off', () => {
  const done: LiveSessionEnding = { as: 'completed', reason: '' }
  assert.equal(cutOffEnding(done, aLiveSession({}, { cutOff: true }), NOW), done)
  assert.equal(cutOffEnding(STOPPED, aLiveSession({}, { cutOff: false, pausing: 'person' }), NOW), STOPPED)
})

test('a pause or a stop that a person asked for while the daemon leaves holds under the next daemon', async t => {
  const agent = scriptedAgent()
  const { begin, project, store } = await openLives(t, agent)
  const life = await begin()
  const ids: Record<string, string> = {}
  const ways: (() => void)[] = []
  for (const [name, point] of [
    ['paused', 'tool'],
    ['stopped', 'opening'],
    ['at work', 'tool'],
  ] as const) {
    const there = agent.holdAt(point)
    ids[name] = (await life.call('POST', '/sessions', { project, task: name, env: {} })).body.id
    ways.push(await there)
  }
  const liveSession = (name: string) => life.supervisor.run(ids[name] ?? '')
  const [atWork, stopping] = [liveSession('at work'), liveSession('stopped')]
  assert.equal((await life.call('POST', `/sessions/${ids['paused']}/pause`, {})).status, 200)
  const stopped = life.supervisor.stop(ids['stopped'] ?? '', 'its run was stopped')
  while (stopping?.control.stopping === undefined) await turn()
  const ended = life.end({ goOn: true })
  while (!atWork?.control.cutOff) await turn()
  for (const goOn of ways) goOn()
  await Promise.all([stopped, ended])

  const rows = async () => {
    const found = await Promise.all(Object.values(ids).map(id => store.sessions.get(id)))
    return found.map(row => [row?.ended_as, row?.resumes_at !== null])
  }
  assert.deepEqual(await rows(), [
    ['paused', false],
    ['stopped', false],
    ['paused', true],
  ])
  await begin()
  for await (const { kind, subject } of store.follow(0))
    if (kind === 'task.finished' && subject === ids['at work']) break
  assert.deepEqual((await rows()).slice(0, 2), [
    ['paused', false],
    ['stopped', false],
  ])
})
