import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenGate } from '../../../src/agents/limits/account-gates.ts'
import { PAUSED_BY_PERSON } from '../../../src/domain/session-end.ts'
import type { SessionRow } from '../../../src/store/tables.ts'
import { A_RUN, beginAttempt, needsWorld as world } from './needs-world.ts'

test('a missing key is given to a session that waits, or to the run, and not to one that was stopped', async t => {
  const { store, session, list } = await world(t)
  const next = async () => (await list()).needs.map(row => row.next)
  const reason = 'Not logged in\nexport KEY=<new key> && pcc resume s-00a --detach'
  const gate = { ...createOpenGate('a-1'), source: 'login' as const, reason, closed_at: 3, closed_until: 9_999 }
  await store.transaction(tx => store.gates.put(gate, 3, tx))
  for (const id of ['s-00a', 's-00b']) {
    await session(id, { state: 'ended', ended_as: 'paused', resumes_at: 9_999, account: 'a-1' })
  }
  assert.deepEqual(await next(), ['export KEY=<new key> && pcc resume s-00a --detach'])
  await store.sessions.update('s-00a', { ended_as: 'stopped', resumes_at: null })
  assert.deepEqual(await next(), ['export KEY=<new key> && pcc resume s-00b --detach'])
  await store.sessions.update('s-00b', { ended_as: 'stopped', resumes_at: null })
  assert.deepEqual(await next(), [])
  await store.transaction(tx => store.runs.insert(A_RUN, tx))
  assert.deepEqual(await next(), [], 'the run has not used that account')
  await beginAttempt(store, { session_id: 's-00b', iteration: 1, number: 1 })
  assert.deepEqual(await next(), ['export KEY=<new key> && pcc resume r-1 --detach'])
})

test('the row of a missing login goes with its cause, whichever way that ends, and not before', async t => {
  const gate = { ...createOpenGate('a-1'), source: 'login' as const, reason: 'Not logged in', closed_at: 3 }
  type World = Awaited<ReturnType<typeof world>>
  const ended = (how: Partial<SessionRow>) => (w: World) => w.store.sessions.update('s-1', { resumes_at: null, ...how })
  const ways: [way: string, isGone: boolean, happen: (w: World) => Promise<unknown>][] = [
    ['a call succeeds', true, w => w.store.transaction(tx => w.store.gates.put(createOpenGate('a-1'), 4, tx))],
    [
      'the work goes on with another login',
      true,
      w => w.store.sessions.update('s-1', { state: 'running', account: 'a-2' }),
    ],
    ['another agent takes over', true, w => w.store.sessions.update('s-1', { account: 'a-2' })],
    [
      'a person pauses it',
      true,
      async w => {
        await ended({ status_reason: `${PAUSED_BY_PERSON}; go on with: …` })(w)
        await w.store.transaction(tx => w.store.gates.put({ ...gate, closed_until: 900 }, 4, tx))
      },
    ],
    [
      'it is done, and its run is over',
      true,
      async w => {
        await ended({ ended_as: 'completed' })(w)
        await w.store.runs.update('r-1', { state: 'ended' })
      },
    ],
    [
      'it is stopped, and the run goes on with another login',
      true,
      async w => {
        await ended({ ended_as: 'stopped' })(w)
        await w.session('s-2', { state: 'running', account: 'a-2' })
        await beginAttempt(w.store, { session_id: 's-2', iteration: 2, number: 2 })
      },
    ],
    ['it is stopped, and the run has no other login', false, ended({ ended_as: 'stopped' })],
    [
      'it tries',
      false,
      async w => {
        await w.store.sessions.update('s-1', { state: 'running', ended_as: null, resumes_at: null })
        await w.store.transaction(tx => w.store.gates.put({ ...gate, closed_until: null }, 4, tx))
      },
    ],
    [
      'its time to try comes',
      false,
      async w => {
        w.time.now = 10_000
      },
    ],
    ['it does not go on by itself any more', false, ended({ status_reason: 'could not go on by itself' })],
  ]
  for (const [way, isGone, happen] of ways) {
    const w = await world(t)
    const { id } = await w.add('one')
    await w.session('s-1', { state: 'ended', ended_as: 'paused', resumes_at: 9_999, account: 'a-1', task_id: id })
    await w.store.transaction(tx => w.store.gates.put({ ...gate, closed_until: 9_999 }, 3, tx))
    await w.store.transaction(tx => w.store.runs.insert(A_RUN, tx))
    await beginAttempt(w.store, { session_id: 's-1', iteration: 1, number: 1 })
    const logins = async () => (await w.list()).needs.filter(({ kind }) => kind === 'login').length
    assert.equal(await logins(), 1, way)
    await happen(w)
    assert.equal(await logins(), isGone ? 0 : 1, way)
  }
})

test('a missing login is one row until a call succeeds, also while the one session that waits for it tries', async t => {
  const { store, session, list } = await world(t)
  const gate = { ...createOpenGate('a-1'), source: 'login' as const, reason: 'Not logged in', closed_at: 3 }
  const put = (row: typeof gate | ReturnType<typeof createOpenGate>) =>
    store.transaction(tx => store.gates.put(row, 3, tx))
  const rows = async () => (await list()).needs.map(({ key, count }) => [key, count])
  await session('s-1', { state: 'ended', ended_as: 'rate_limited', resumes_at: 9_999, account: 'a-1' })
  await put({ ...gate, closed_until: 9_999 })
  assert.deepEqual(await rows(), [['account:a-1', 1]])
  // The account is open for one try.
  await put({ ...gate, closed_until: null })
  await store.sessions.update('s-1', { state: 'running', ended_as: null, resumes_at: null })
  assert.deepEqual(await rows(), [['account:a-1', 1]])
  await put(createOpenGate('a-1'))
  assert.deepEqual(await rows(), [])
})
