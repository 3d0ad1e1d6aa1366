import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { NewEvidence } from '../../src/domain/evidence.ts'
import type { Merge } from '../../src/domain/merge.ts'
import type { WorktreeRow } from '../../src/domain/worktree.ts'
import { openStore } from '../../src/store/open.ts'
import { tempDir } from '../support/world.ts'
import { type Kept, keepAttempt } from './an-attempt.ts'
import { DATABASES } from './databases.ts'

const ROW: WorktreeRow = {
  ...{ task: 't-000001', attempt: 1, project: '/p', repository: '/p/.git', directory: '/w/p/sub', top: '/w/p' },
  ...{ branch: 'pcc/t-000001', target: 'main', base: 'abc', state: 'making', reason: null, archive: null, setup: null },
  ...{ created_at: 1, ended_at: null },
}

for (const { name, open } of DATABASES) {
  test(`${name}: each attempt has one worktree row, which can be replaced and is found by its fields`, async t => {
    const { worktrees, transaction } = await open(t)
    await worktrees.put(ROW)
    await worktrees.put({ ...ROW, base: 'def' })
    assert.deepEqual({ ...(await worktrees.get(ROW)) }, { ...ROW, base: 'def' })
    await transaction(tx => worktrees.put({ ...ROW, attempt: 2, project: '/q', created_at: 2 }, tx))
    await worktrees.update(
      { task: 't-000001', attempt: 1 },
      { state: 'archived', archive: 'refs/pcc/archive/t-000001/1' },
    )
    const attempts = async (filter: Parameters<typeof worktrees.list>[0]) =>
      (await worktrees.list(filter)).map(({ attempt }) => attempt)
    assert.deepEqual(await attempts({}), [2, 1], 'newest first')
    assert.deepEqual(await attempts({ states: ['archived'] }), [1])
    assert.deepEqual(await attempts({ project: '/q', task: 't-000001' }), [2])
    assert.deepEqual(await attempts({ repository: '/elsewhere' }), [])
    assert.equal(await worktrees.get({ task: 't-000002', attempt: 1 }), undefined)
  })
}

function evidence(gate: string, more: Partial<NewEvidence> = {}): NewEvidence {
  return {
    ...{ task_id: 't-1', attempt: 1, round: 1, gate, kind: 'command', status: 'passed', tree: 'abc', command: 'make' },
    ...{ exit: 0, duration_ms: 5, output: 'out', findings: [], tests: null, cached: false, created_at: 1 },
    ...more,
  }
}

for (const { name, open } of DATABASES) {
  test(`${name}: evidence comes back as it was put, in its order`, async t => {
    const store = await open(t)
    const rows = [
      evidence('build'),
      evidence('test', {
        status: 'failed',
        findings: [{ code: 'test.failed', weight: 'block', text: 'x', file: 'a', line: 3 }],
        tests: [{ name: 'a', status: 'failed' }],
        cached: true,
        tree: null,
      }),
    ]
    const of = { task_id: 't-1', attempt: 1, round: 1 }
    await store.transaction(tx => store.evidence.put(of, rows, tx))
    assert.deepEqual(
      (await store.evidence.list({ task: 't-1' })).map(({ id, ...rest }) => rest),
      rows,
    )
  })

  test(`${name}: a repeated round replaces its earlier evidence and nothing else`, async t => {
    const store = await open(t)
    const put = (round: number, gate: string) =>
      store.transaction(tx =>
        store.evidence.put({ task_id: 't-1', attempt: 1, round }, [evidence(gate, { round })], tx),
      )
    await put(1, 'first')
    await put(2, 'interrupted')
    await put(2, 'whole')
    assert.deepEqual(
      (await store.evidence.list({ task: 't-1' })).map(({ gate }) => gate),
      ['first', 'whole'],
    )
    assert.deepEqual(
      (await store.evidence.latest('t-1')).map(({ gate }) => gate),
      ['whole'],
    )
    assert.deepEqual(
      (await store.evidence.list({ task: 't-1', attempt: 1, round: 1 })).map(({ gate }) => gate),
      ['first'],
    )
    assert.deepEqual(await store.evidence.latest('t-2'), [])
  })

  test(`${name}: a result is kept under its key until it is too old`, async t => {
    const store = await open(t)
    const result = {
      ...{ key: 'k', tree: 'abc', command: 'make', exit: 0, duration_ms: 4, output: 'o', created_at: 100 },
      tests: [{ name: 'a', status: 'passed' as const }],
    }
    await store.gateResults.put(result)
    await store.gateResults.put({ ...result, output: 'newer' })
    assert.deepEqual(await store.gateResults.get('k'), { ...result, output: 'newer' })
    assert.equal(await store.gateResults.get('other'), undefined)
    await store.gateResults.prune(101)
    assert.equal(await store.gateResults.get('k'), undefined)
  })
}

type NewMerge = Omit<Merge, 'id'>

const row = (more: Partial<NewMerge> = {}): NewMerge => ({
  task_id: 't-000001',
  attempt: 1,
  project: '/p',
  repository: '/p/.git',
  branch: 'pcc/t-000001',
  target: 'main',
  strategy: 'rebase',
  state: 'queued',
  reason: null,
  base: null,
  head: 'h',
  result: null,
  batch: null,
  as_pull_request: 0,
  rounds: 0,
  cleaned_at: null,
  created_at: 1,
  updated_at: 1,
  ...more,
})

const open = async (t: TestContext) => {
  const store = await openStore({ file: join(tempDir(t), 'pcc.db') })
  t.after(() => store.close())
  return store
}

test('a task has one merge that is not over, and any number that are', async t => {
  const store = await open(t)
  const insert = (more?: Partial<NewMerge>) => store.transaction(tx => store.merges.insert(row(more), tx))
  await insert({ state: 'failed' })
  const first = await insert()
  await assert.rejects(insert(), /UNIQUE/)
  await insert({ state: 'aborted' })
  assert.deepEqual(await store.merges.open('t-000001'), first)
  assert.equal((await store.merges.list({ task: 't-000001' })).length, 3)
})

test('of two concurrent moves of the same merge one succeeds', async t => {
  const store = await open(t)
  const merge = await store.transaction(tx => store.merges.insert(row(), tx))
  const move = (state: Merge['state']) => store.transaction(tx => store.merges.move(merge, { state }, tx))
  assert.deepEqual(await Promise.all([move('rebasing'), move('aborted')]), [true, false])
  assert.equal((await store.merges.get(merge.id))?.state, 'rebasing')
})

test('only queues with open merges are listed, and lists are in order and keep the newest', async t => {
  const store = await open(t)
  await store.transaction(async tx => {
    await store.merges.insert(row({ state: 'merged' }), tx)
    await store.merges.insert(row({ task_id: 't-000002', target: 'other' }), tx)
    await store.merges.insert(row({ task_id: 't-000003', target: 'other', state: 'waiting' }), tx)
    await store.merges.insert(row({ task_id: 't-000004', state: 'merged', target: 'gone', cleaned_at: 5 }), tx)
  })
  assert.deepEqual(await store.merges.queues(), [{ repository: '/p/.git', target: 'other' }])
  const queue = { repository: '/p/.git', target: 'other' }
  assert.deepEqual(
    (await store.merges.list({ queue })).map(({ task_id }) => task_id),
    ['t-000002', 't-000003'],
  )
  assert.deepEqual(
    (await store.merges.list({ limit: 2 })).map(({ id }) => id),
    [3, 4],
  )
  assert.deepEqual(
    (await store.merges.toClean()).map(({ id }) => id),
    [1],
  )
})

for (const { name, open } of DATABASES) {
  test(`${name}: what became of the work of a run's attempts is found at once, also for one that was tried again`, async t => {
    const store = await open(t)
    const attempts: Kept[] = [
      { task: 't-1' },
      { task: 't-2' },
      { task: 't-3' },
      { task: 't-4', outcome: 'failed' },
      { task: 't-4', number: 2 },
      { task: 't-5' },
      { task: 't-6', run: 'r-2' },
    ]
    for (const kept of attempts) await keepAttempt(store, kept)
    for (const { task, number = 1 } of attempts)
      if (task !== 't-5') await store.worktrees.put({ ...ROW, task, attempt: number })
    await store.transaction(async tx => {
      await store.merges.insert(row({ task_id: 't-1', state: 'merged', head: 'new' }), tx)
      await store.merges.insert(row({ task_id: 't-2', state: 'failed', head: 'new' }), tx)
      await store.merges.insert(row({ task_id: 't-3', state: 'merged', head: ROW.base }), tx)
      await store.merges.insert(row({ task_id: 't-4', attempt: 1, state: 'merged', head: 'new' }), tx)
    })
    const found = (await store.runs.doneAttempts('r-1')).map(({ task_id, number, as }) => `${task_id} ${number} ${as}`)
    assert.deepEqual(found.sort(), ['t-1 1 merged', 't-2 1 unmerged', 't-3 1 nothing', 't-4 2 unmerged'])
  })
}
