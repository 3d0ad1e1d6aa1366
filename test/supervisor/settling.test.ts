import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import timers from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { AppError } from '../../src/base/errors.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import type { SessionRow } from '../../src/store/tables.ts'
import { claimParked } from '../../src/supervisor/resume/claim-parked.ts'
import type { Parts, Run } from '../../src/supervisor/run.ts'
import { settlePatiently } from '../../src/supervisor/settling/settle-patiently.ts'
import { stopWaiting } from '../../src/supervisor/settling/stop-waiting.ts'
import { tempDir } from '../support/world.ts'
import { aRun } from './a-run.ts'

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

/** The store, whose next writes fail. */
function failing(store: Store, times: number, failure = new Error('disk full')): Parts {
  let left = times
  const transaction: Store['transaction'] = work => (left-- > 0 ? Promise.reject(failure) : store.transaction(work))
  const broken = new Proxy(store, {
    get: (own, name) => (name === 'transaction' ? transaction : Reflect.get(own, name)),
  })
  return { store: broken, clock: systemClock } as unknown as Parts
}

/** Settles a session as complete, without its waits: how long each would have been comes back, and why it gave up. */
async function settleSoon(t: TestContext, run: Run, parts: Parts): Promise<{ waits: number[]; error?: unknown }> {
  const waits: number[] = []
  const slept = t.mock.method(timers, 'setTimeout', async (ms: number) => {
    waits.push(ms)
  })
  syncBuiltinESMExports()
  const ending = { as: 'completed', reason: 'done' } as const
  try {
    await settlePatiently(run, parts, { ending, signal: new AbortController().signal })
    return { waits }
  } catch (error) {
    return { waits, error }
  } finally {
    slept.mock.restore()
    syncBuiltinESMExports()
  }
}

test('a session whose end cannot be written is settled as soon as the store works again, once', async t => {
  const store = await storeWith(t, {})
  const run = aRun()
  assert.deepEqual(await settleSoon(t, run, failing(store, 2)), { waits: [250, 1_000] })
  assert.equal((await store.sessions.get(ID))?.ended_as, 'completed')
  assert.equal(run.row.state, 'ended')
  assert.equal((await store.events({ subject: ID, kinds: ['session.ended'] })).length, 1)
})

test('a session whose end a full disk refuses for hours is settled all the same; any other failure is told in the end', async t => {
  const store = await storeWith(t, {})
  const broken = new Error('broken')
  const givenUp = await settleSoon(t, aRun(), failing(store, 1_000, broken))
  assert.deepEqual(givenUp, { waits: [250, 1_000, 4_000, 15_000, 30_000, 60_000], error: broken })
  const taken = new AppError('session_taken_over', { id: ID })
  assert.deepEqual(await settleSoon(t, aRun(), failing(store, 1, taken)), { waits: [], error: taken })
  assert.equal((await store.sessions.get(ID))?.state, 'running', 'another daemon has it: nothing more is written')

  const full = new AppError('store_unusable', { file: 'db', problem: 'the disk is full' })
  const { waits, error } = await settleSoon(t, aRun(), failing(store, 300, full))
  assert.deepEqual([waits.length, error, (await store.sessions.get(ID))?.ended_as], [300, undefined, 'completed'])
  assert.deepEqual([...new Set(waits.slice(6))], [60_000], 'once a minute')
})

test('when there is no time any more a store that fails is told at once', async t => {
  const store = await storeWith(t, {})
  const ending = { as: 'completed', reason: 'done' } as const
  const run = aRun()
  await assert.rejects(settlePatiently(run, failing(store, 9), { ending, signal: AbortSignal.abort() }), /disk full/)
  assert.equal(run.row.state, 'running', 'what was not stored did not happen')
})

test('of two answers to a parked question one takes the session, and a stop that comes too late says so', async t => {
  const store = await storeWith(t, { state: 'ended', ended_as: 'waiting_input', parked: PARKED })
  const seen = await store.sessions.get(ID)
  assert.ok(seen)
  const claim = () =>
    claimParked({ store, clock: systemClock }, { ...CLAIM, patch: { state: 'starting', owner: 'boot-1' } })
  const tries = await Promise.allSettled([claim(), claim()])
  assert.deepEqual(tries.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  assert.equal(await stopWaiting(seen, store, 1), false)
  assert.equal((await store.sessions.get(ID))?.state, 'starting')
})

test('an answer that comes after a stop takes nothing', async t => {
  const store = await storeWith(t, { state: 'ended', ended_as: 'waiting_input', parked: PARKED })
  const seen = await store.sessions.get(ID)
  assert.ok(seen && (await stopWaiting(seen, store, 1)))
  const claim = claimParked({ store, clock: systemClock }, { ...CLAIM, patch: { state: 'starting' } })
  await assert.rejects(claim, { code: 'ask_unknown' })
  assert.equal((await store.sessions.get(ID))?.ended_as, 'stopped')
})
