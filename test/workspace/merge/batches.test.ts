import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type MergeFixture, openMergeFixture } from './merge-fixture.ts'

const TASKS = Array.from({ length: 5 }, (_, index) => `t-00000${index + 1}`)

/** Several tasks from the same commit, each with its own file; a bad one breaks every tree that it is in. */
async function queued(world: MergeFixture, tasks: readonly string[], bad: readonly string[] = []): Promise<void> {
  for (const task of tasks) await world.enqueue(await world.work(task, { [`${task}.txt`]: 'new\n' }))
  world.gates((_, worktree) => (bad.some(task => existsSync(join(worktree.top, `${task}.txt`))) ? 'failed' : 'passed'))
}

const toldOf = (world: MergeFixture, wanted: string) =>
  world.told.flatMap(({ kind, task }) => (kind === wanted ? [task] : []))

test('several that are ready are verified once, together, and all land', async t => {
  const world = await openMergeFixture(t, { batch: 4 })
  await queued(world, TASKS.slice(0, 4))
  await world.advance()
  assert.deepEqual(toldOf(world, 'merged'), TASKS.slice(0, 4))
  assert.deepEqual(toldOf(world, 'verified'), ['t-000004'], 'in the worktree of the last one')
  assert.equal(world.subjects().length, 5)
  assert.equal(world.git('status', '--porcelain'), '')
  assert.equal(world.git('branch', '--list', 'pcc/*'), '')
  for (const task of TASKS.slice(0, 4)) assert.equal(readFileSync(join(world.project, `${task}.txt`), 'utf8'), 'new\n')
})

for (const bad of ['t-000001', 't-000004']) {
  test(`of five together the bad one (${bad}) is found by halves and goes back alone; the others land`, async t => {
    const world = await openMergeFixture(t, { batch: 5 })
    await queued(world, TASKS, [bad])
    world.commit({ 'moved.txt': 'so that even the first is looked at\n' })
    await world.advance()
    assert.deepEqual(toldOf(world, 'refused'), [bad])
    assert.deepEqual(
      toldOf(world, 'merged'),
      TASKS.filter(task => task !== bad),
    )
    assert.ok(toldOf(world, 'verified').length <= 5, `it took ${toldOf(world, 'verified').length} looks`)
    assert.equal(world.git('ls-tree', '--name-only', 'main', `${bad}.txt`), '')
    const worktree = await world.make({ task: bad })
    assert.ok(existsSync(join(worktree.top, `${bad}.txt`)), 'its own work is in its worktree')
    assert.equal((await world.row(bad)).state, 'failed')
  })
}

test('one that conflicts with another of its batch waits for that one, and then goes to its own conversation', async t => {
  const world = await openMergeFixture(t, { batch: 4 })
  await world.enqueue(await world.work('t-000001', { 'a.txt': 'one\nfirst\nthree\n' }))
  await world.enqueue(await world.work('t-000002', { 'a.txt': 'one\nsecond\nthree\n' }))
  await world.enqueue(await world.work('t-000003', { 'c.txt': 'c\n' }))
  await world.advance()
  assert.deepEqual(toldOf(world, 'merged'), ['t-000001', 't-000003'])
  assert.deepEqual(toldOf(world, 'conflicted'), ['t-000002'])
})

test('a stale attempt is refused, however far it is, and those that it was tried with land', async t => {
  const world = await openMergeFixture(t, { batch: 4 })
  await queued(world, TASKS.slice(0, 3))
  world.gates(() => {
    world.stale.add('t-000002')
    return 'passed'
  })
  await world.advance()
  assert.deepEqual(toldOf(world, 'merged'), ['t-000001', 't-000003'])
  const row = await world.row('t-000002')
  assert.deepEqual([row.state, row.reason], ['aborted', 'a newer attempt at the task has begun, or the task is over'])
  assert.equal(world.git('ls-tree', '--name-only', 'main', 't-000002.txt'), '')
  assert.notEqual(world.git('branch', '--list', 'pcc/t-000002'), '', 'its work is still there')
})

test('a stale attempt that is in the target already has landed all the same', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'new.txt': 'x\n' })
  await world.enqueue(worktree)
  world.git('merge', '-q', '--ff-only', 'pcc/t-000001')
  world.stale.add('t-000001')
  await world.advance()
  assert.deepEqual(world.told, [{ kind: 'merged', task: 't-000001' }])
})

test('commits that somebody adds after the verification are neither merged nor lost: a person is asked', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'new.txt': 'x\n' })
  await world.enqueue(worktree)
  world.gitIn(worktree.top, 'commit', '-q', '--allow-empty', '-m', 'late')
  await world.advance()
  assert.deepEqual(toldOf(world, 'given_up'), ['t-000001'])
  assert.deepEqual(world.subjects(), ['first'])
  assert.equal(world.git('log', '-1', '--format=%s', 'pcc/t-000001').trim(), 'late')
})

test('queued again, the same work stays one merge; that of a newer attempt takes its place', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'new.txt': 'x\n' })
  const first = await world.enqueue(worktree)
  assert.deepEqual(await world.enqueue(worktree), first)
  const newer = await world.work('t-000001', { 'newer.txt': 'x\n' }, { attempt: 2 })
  const second = await world.enqueue(newer)
  assert.deepEqual(
    (await world.deps.store.merges.list()).map(({ id, state, attempt }) => [id, state, attempt]),
    [
      [first.id, 'aborted', 1],
      [second.id, 'queued', 2],
    ],
  )
})
