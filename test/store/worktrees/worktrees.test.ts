import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Worktree } from '../../../src/domain/workspace/place.ts'
import { DATABASES } from '../databases.ts'

const ROW: Worktree = {
  ...{ task: 't-000001', attempt: 1, project: '/p', repository: '/p/.git', directory: '/w/p/sub', top: '/w/p' },
  ...{ branch: 'pcc/t-000001', target: 'main', base: 'abc', state: 'making', reason: null, archive: null, setup: null },
  ...{ created_at: 1, ended_at: null },
}

for (const { name, open } of DATABASES) {
  test(`${name}: a worktree’s row is one for each attempt, is put again in its place, and found by what it is`, async t => {
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
