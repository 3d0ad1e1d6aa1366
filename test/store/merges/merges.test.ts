import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Merge } from '../../../src/domain/workspace/merge.ts'
import { openStore } from '../../../src/store/open.ts'
import { tempDir } from '../../support/world.ts'

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

test('of two that move the same merge one does', async t => {
  const store = await open(t)
  const merge = await store.transaction(tx => store.merges.insert(row(), tx))
  const move = (state: Merge['state']) => store.transaction(tx => store.merges.move(merge, { state }, tx))
  assert.deepEqual(await Promise.all([move('rebasing'), move('aborted')]), [true, false])
  assert.equal((await store.merges.get(merge.id))?.state, 'rebasing')
})

test('lanes are the queues in which something is not over, and lists come in order with the newest kept', async t => {
  const store = await open(t)
  await store.transaction(async tx => {
    await store.merges.insert(row({ state: 'merged' }), tx)
    await store.merges.insert(row({ task_id: 't-000002', target: 'other' }), tx)
    await store.merges.insert(row({ task_id: 't-000003', target: 'other', state: 'waiting' }), tx)
    await store.merges.insert(row({ task_id: 't-000004', state: 'merged', target: 'gone', cleaned_at: 5 }), tx)
  })
  assert.deepEqual(await store.merges.lanes(), [{ repository: '/p/.git', target: 'other' }])
  const lane = { repository: '/p/.git', target: 'other' }
  assert.deepEqual(
    (await store.merges.list({ lane })).map(({ task_id }) => task_id),
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
