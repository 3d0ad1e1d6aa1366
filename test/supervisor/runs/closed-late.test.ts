import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import { openStore } from '../../../src/store/open.ts'
import type { RunRow } from '../../../src/store/tables.ts'
import { claimFor } from '../../../src/supervisor/runs/begin-next.ts'
import { closeAttempt } from '../../../src/supervisor/runs/close-attempt.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { tempDir } from '../../support/world.ts'

const RUN: RunRow = {
  ...{ id: 'r-000001', project: '/p', target: { kind: 'project' }, options: {}, state: 'running' },
  ...{ outcome: null, reason: null, gave_up: null, stopping: false, iterations: 0, created_at: 1, ended_at: null },
}

/** A task of a run whose first session was stopped while it worked. */
async function stoppedInTheMiddle(t: TestContext) {
  const store = await openStore({ file: join(tempDir(t), 'store.db') })
  t.after(() => store.close())
  const clock = { now: () => 1_000 }
  const tasks = openTasks({ store, clock })
  await store.transaction(tx => store.runs.insert(RUN, tx))
  const task = await store.transaction(tx => tasks.submit({ session_id: null, project: '/p', text: 'do it' }, tx))
  const get = async () => (await store.tasks.get(task.id)) ?? task
  /** A new session claims the task, as in a run. */
  const begin = async (id: string) => {
    await store.sessions.insert({ id, name: id, project: '/p', task: 'do it', agent: 'none' })
    const session = await store.sessions.get(id)
    assert.ok(session)
    const take = claimFor(await get(), { run: RUN, model: undefined }, { store, tasks, clock })
    await store.transaction(tx => take(session, tx))
  }
  await begin('s-000001')
  await store.sessions.update('s-000001', { state: 'ended', ended_as: 'stopped', status_reason: 'stopped' })
  const close = async () => {
    const [attempt] = await store.runs.attempts({ session: 's-000001' })
    const session = await store.sessions.get('s-000001')
    assert.ok(attempt && session)
    const deps = { store, tasks, clock, log: silentLog, notesLock: join(tempDir(t), 'lock') }
    await closeAttempt(RUN, { attempt, session }, { ...deps, settings: { maxRetries: 3, retryMs: [] } })
    return { task: await get(), attempts: await store.runs.attempts({ task: task.id }) }
  }
  return { store, tasks, task, begin, close }
}

test('an attempt whose session was stopped gives its task back', async t => {
  const { close } = await stoppedInTheMiddle(t)
  const { task, attempts } = await close()
  assert.deepEqual([task.state, task.session_id, task.run_id, task.lease_owner], ['ready', null, null, null])
  assert.deepEqual(
    attempts.map(({ number, outcome }) => [number, outcome]),
    [[1, 'interrupted']],
  )
})

test('an attempt that is closed late leaves the task to the newer one that holds it by then', async t => {
  const {
    store,
    tasks,
    task: { id },
    begin,
    close,
  } = await stoppedInTheMiddle(t)
  await store.transaction(async tx => tasks.force(await tasks.find(id, tx), { to: 'ready' }, tx))
  await begin('s-000002')
  const { task, attempts } = await close()
  const holds = ['running', 's-000002', RUN.id, RUN.id]
  assert.deepEqual([task.state, task.session_id, task.run_id, task.lease_owner], holds)
  assert.deepEqual(
    attempts.map(({ session_id, number, outcome }) => [session_id, number, outcome]),
    [
      ['s-000001', 1, 'interrupted'],
      ['s-000002', task.attempt, null],
    ],
  )
})
