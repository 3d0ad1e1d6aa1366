import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { NewEvent } from '../../../src/domain/event.ts'
import { openStore } from '../../../src/store/open.ts'
import type { RunRow, SessionRow } from '../../../src/store/tables.ts'
import { listNeeds } from '../../../src/supervisor/report/needs.ts'
import { DISK_REMEDY } from '../../../src/supervisor/report/troubles.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { tempDir } from '../../support/world.ts'

const A_RUN: RunRow = {
  ...{ id: 'r-1', project: '/p', target: { kind: 'project' }, options: {}, state: 'running', outcome: null },
  ...{ reason: null, gave_up: null, stopping: false, iterations: 0, created_at: 5, ended_at: null },
}

test('what an agent gave up is run again with the command for exactly those tasks', async t => {
  const store = await openStore({ file: join(tempDir(t), 'store.db') })
  t.after(() => store.close())
  const tasks = openTasks({ store, clock: { now: () => 1 } })
  const task = await store.transaction(tx =>
    tasks.submit({ session_id: null, project: '/p', text: 'left', feature: 'shop' }, tx),
  )
  const given = { ...A_RUN, state: 'ended', outcome: 'failure', gave_up: 'no database', ended_at: 9 } as const
  const targets: [RunRow['target'], string][] = [
    [{ kind: 'project' }, 'pcc run /p'],
    [{ kind: 'feature', name: 'shop' }, 'pcc run shop --project /p'],
    [{ kind: 'task', id: task.id }, `pcc run ${task.id}`],
  ]
  for (const [at, [target, next]] of targets.entries()) {
    const run = { ...given, id: `r-${at}`, created_at: 10 + at, target }
    await store.transaction(tx => store.runs.insert(run, tx))
    assert.deepEqual(
      (await listNeeds({ store })).needs.map(need => need.next),
      [next],
    )
  }
})

test('a vendor that does not answer, a missing program, an unknown model and a full disk are one row each while they last', async t => {
  const clock = { now: () => 1_000 }
  const store = await openStore({ file: join(tempDir(t), 'store.db'), clock })
  t.after(() => store.close())
  const tasks = openTasks({ store, clock })
  const session = (id: string, more: Partial<SessionRow> = {}) =>
    store.sessions.insert({ id, name: id, project: '/p', task: 't', agent: 'claude', ...more })
  const list = () => listNeeds({ store, now: clock.now })
  const say = (subject: string, kind: 'agent.retried' | 'session.ended' | 'agent.said', body: object) =>
    store.append([{ actor: 'daemon', subject, kind, body } as NewEvent])
  const failure = { kind: 'network', message: 'no answer from 127.0.0.1:1: connection refused' }
  const retried = (attempt: number) => ({ attempt, max_retries: 10, delay_ms: 1, failure })
  await session('s-live', { state: 'running', account: 'a-1' })
  await say('s-live', 'agent.retried', retried(2))
  const rows = async () => (await list()).needs.map(({ kind, text, next, count }) => [kind, text, next, count]).sort()
  assert.deepEqual(await rows(), [], 'most outages are shorter')
  await say('s-live', 'agent.retried', retried(3))
  const outage = 'The vendor of claude does not answer: no answer from 127.0.0.1:1: connection refused'
  assert.deepEqual(await rows(), [['vendor', outage, (await rows())[0]?.[2], 1]])
  assert.match(`${(await rows())[0]?.[2]}`, /network.*tried again by itself.*pcc resume s-live$/)
  await say('s-live', 'agent.said', { text: 'on we go' })
  assert.deepEqual(await rows(), [])

  const waits = { state: 'ended', ended_as: 'paused', resumes_at: 9, account: 'a-1' } as const
  for (const id of ['s-1', 's-2']) {
    await session(id, { ...waits, status_reason: 'connection refused; try 1 of 3 follows' })
    await say(id, 'session.ended', { status: 'paused', reason: 'x', failure: 'network' })
  }
  await session('s-3', {
    ...waits,
    account: 'a-2',
    status_reason: 'codex cannot be started: gone\nHow to get it: npm i',
  })
  await say('s-3', 'session.ended', { status: 'paused', reason: 'x', failure: 'agent_missing' })
  await session('s-4', { ...waits, account: 'a-3', status_reason: `only 3 MB are free\n${DISK_REMEDY}` })
  const request = { session_id: null, project: '/p', text: 'x', title: 'with a model', after: [] }
  const { id: task } = await store.transaction(tx => tasks.submit(request, tx))
  await session('s-5', { task_id: task, state: 'running' })
  const claim = { scope: { project: '/p' }, run: 'r-1', session: 's-5', only: task }
  await store.transaction(tx => tasks.claimReady(claim, tx))
  await store.transaction(async tx => {
    await store.runs.insert(A_RUN, tx)
    const columns = { reason: null, result: null, next_model: null, failure: null, cost_usd: 0, rounds: 0, model: null }
    const attempt = { task_id: task, number: 1, run_id: 'r-1', iteration: 1, session_id: 's-5', outcome: null }
    await store.runs.begin({ ...columns, ...attempt, started_at: 1, ended_at: null }, tx)
    const end = { outcome: 'failed', failure: 'model_not_found', reason: 'no model nope', ended_at: 2 } as const
    await store.runs.end({ task_id: task, number: 1 }, end, tx)
  })
  await store.sessions.update('s-5', { state: 'ended', ended_as: 'error' })
  await store.transaction(tx => tasks.transition(task, { to: 'ready', retry: true }, tx))
  assert.deepEqual(
    (await rows()).map(([kind, text, , count]) => [kind, text, count]),
    [
      ['run', 'Tasks cannot begin: no model nope', 1],
      ['session', 'Work waits: only 3 MB are free', 1],
      ['session', 'codex cannot be started: gone', 1],
      ['vendor', 'The vendor of claude does not answer: connection refused', 2],
    ],
  )
  for (const id of ['s-1', 's-2', 's-3', 's-4'])
    await store.sessions.update(id, { resumes_at: null, ended_as: 'stopped' })
  await store.transaction(tx => tasks.transition(task, { to: 'done', forced: true }, tx))
  assert.deepEqual(await rows(), [])
})
