import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { silentLog } from '../../../src/base/log.ts'
import type { SessionState } from '../../../src/domain/api.ts'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Parked, SessionRow } from '../../../src/store/tables.ts'
import type { SupervisorContext } from '../../../src/supervisor/context.ts'
import { record } from '../../../src/supervisor/session/record.ts'
import { recover } from '../../../src/supervisor/session/recover.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession } from './live-session.ts'
import { sessionDepsOn } from './session-deps.ts'

const STATES: SessionState[] = ['queued', 'starting', 'running', 'asking', 'ended']
const BOOT = 'boot-now'
/** The parked question of a session whose answer was on the way to the agent. */
const ANSWERED: Parked = { ask_id: 'a-1', call_id: 'c-1', questions: [], reason: 'nobody could answer', number: 1 }

/** The part of the supervisor context that recovery needs. */
function supervisorOn(store: Store): SupervisorContext {
  return { deps: sessionDepsOn(store), bootId: BOOT, log: silentLog } as SupervisorContext
}

/** A session with one task at work, as a daemon that died left it. */
async function left(store: Store, row: Partial<SessionRow>): Promise<SessionRow> {
  const { tasks } = sessionDepsOn(store)
  const inserted = await store.sessions.insert({ ...aLiveSession().row, owner: 'boot-gone', ...row })
  await store.transaction(async tx => {
    const { id: session, project } = inserted
    const task = await tasks.submit({ session_id: session, project, text: 'Build it', actor: 'cli' }, tx)
    await tasks.claimNext(session, tx)
    await store.sessions.update(session, { task_id: task.id }, tx)
  })
  return { ...inserted, ...(await store.sessions.get(inserted.id)) }
}

const ends = (events: StoredEvent[]) => events.filter(({ kind }) => kind === 'session.ended')

test('every session that a dead daemon held ends once, and goes on unless a person or a problem says otherwise', async t => {
  const rows = fc.array(
    fc.record({
      state: fc.constantFrom(...STATES),
      owner: fc.constantFrom('boot-gone', BOOT, null),
      intent: fc.constantFrom('stop', 'pause', null),
      recoveries: fc.nat(6),
      isStuck: fc.boolean(),
      parked: fc.constantFrom(ANSWERED, null),
    }),
    { maxLength: 6 },
  )
  let home = 0
  const property = fc.asyncProperty(rows, async given => {
    home += 1
    await using store = await openStore({ file: join(tempDir(t), `db-${home}`) })
    const stuck = new Set<string>()
    const before: SessionRow[] = []
    for (const [index, { isStuck, ...row }] of given.entries()) {
      const id = `s-00000${index}`
      if (isStuck) stuck.add(id)
      before.push(await left(store, { ...row, id, name: id, ended_as: row.state === 'ended' ? 'paused' : null }))
    }
    const counted = await recover(stuck, supervisorOn(store))
    await recover(stuck, supervisorOn(store))
    const held = before.filter(({ state, owner }) => state !== 'ended' && owner === 'boot-gone')
    for (const row of before) {
      const after = await store.sessions.get(row.id)
      const events = await store.events({ subject: row.id })
      if (!held.includes(row)) {
        assert.deepEqual(after, row, 'a session that no daemon lost stays as it was')
        continue
      }
      const isHeld = row.intent !== null || row.recoveries >= 5 || stuck.has(row.id)
      const isBrought = !isHeld && row.parked !== null
      assert.equal(ends(events).length, 1)
      assert.deepEqual([after?.state, after?.owner], ['ended', null])
      const as = row.intent === 'stop' ? 'stopped' : isBrought ? 'waiting_input' : 'paused'
      assert.equal(after?.ended_as, as, 'an answer on its way starts nothing that is held')
      assert.deepEqual(after?.parked, row.intent === 'stop' ? null : row.parked, 'and is not lost')
      assert.equal(after?.resumes_at !== null, !isHeld && !isBrought)
      const asked = await store.escalations.list({ session: row.id, states: ['open'] })
      const isProblem = row.intent !== 'stop' && (row.recoveries >= 5 || stuck.has(row.id))
      assert.equal(asked.length, isProblem ? 1 : 0, 'a person hears of a session that does not go on by itself')
      const task = await store.tasks.get(row.task_id ?? '')
      assert.deepEqual([task?.state, task?.attempt], ['waiting', 2])
    }
    assert.equal(counted.goesOn + counted.waits, held.length)
  })
  await fc.assert(property, { numRuns: 25 })
})

test('sessions that had a place go on first, the rest by priority and age', async t => {
  await using store = await openStore({ file: join(tempDir(t), 'db') })
  const rows: Partial<SessionRow>[] = [
    { id: 's-a', state: 'queued', priority: 0, created_at: 1 },
    { id: 's-b', state: 'queued', priority: 5, created_at: 2 },
    { id: 's-c', state: 'running', priority: 0, created_at: 4 },
    { id: 's-d', state: 'asking', priority: 0, created_at: 3 },
  ]
  for (const row of rows) await left(store, { ...row, name: row.id ?? '' })
  await recover(new Set(), supervisorOn(store))
  const order = (await store.sessions.waiting()).map(({ id }) => id)
  assert.deepEqual(order, ['s-d', 's-c', 's-b', 's-a'])
})

test('a daemon that lost a session can neither report on it nor on its task', async t => {
  await using store = await openStore({ file: join(tempDir(t), 'db') })
  const row = await left(store, { id: 's-a', name: 'a', state: 'running' })
  const stale = aLiveSession(row, { id: 's-a', attempt: 1 })
  await recover(new Set(), supervisorOn(store))
  const done = { events: [], patch: { turns: 9 }, task: { to: 'done', result: 'All done.' } } as const
  await assert.rejects(record(stale, sessionDepsOn(store), { ...done, events: [] }), { code: 'session_taken_over' })
  const { turns } = (await store.sessions.get('s-a')) ?? {}
  assert.equal(turns, row.turns)
  // A session that was resumed under the same owner has the new attempt, and the old attempt moves nothing.
  await store.sessions.update('s-a', { owner: row.owner })
  await store.transaction(tx => sessionDepsOn(store).tasks.claimNext('s-a', tx))
  await record(aLiveSession(row, { id: 's-a', attempt: 1 }), sessionDepsOn(store), { ...done, events: [] })
  assert.equal((await store.tasks.get(row.task_id ?? ''))?.state, 'running')
  await record(aLiveSession(row, { id: 's-a', attempt: 2 }), sessionDepsOn(store), { ...done, events: [] })
  assert.equal((await store.tasks.get(row.task_id ?? ''))?.state, 'done')
})
