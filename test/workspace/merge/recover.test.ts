import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Merge } from '../../../src/domain/merge.ts'
import { makeRepository, tempDir } from '../../support/world.ts'
import { openWorktreeFixture, write } from '../worktrees/worktree-fixture.ts'
import { recover } from './drive-queue.ts'
import { type MergeFixture, mergeFixtureOn, openMergeFixture } from './merge-fixture.ts'

/** Writes a state into the row, whatever git says. */
async function left(world: MergeFixture, patch: Partial<Merge>): Promise<void> {
  const { store } = world.deps
  const row = await world.row('t-000001')
  await store.transaction(tx => store.merges.move(row, patch, tx))
}

for (const hash of ['sha1', 'sha256'] as const) {
  test(`${hash}: what lies in a worktree beside the verified work is kept under a ref before it is put right, and the work lands`, async t => {
    const project = tempDir(t)
    write(project, { 'a.txt': 'one\ntwo\nthree\n' })
    makeRepository(project, { hash })
    await keepsOtherWork(mergeFixtureOn(await openWorktreeFixture(t, { project }), 1))
  })
}

async function keepsOtherWork(world: MergeFixture): Promise<void> {
  const worktree = await world.work('t-000001', { 'new.txt': 'new\n' })
  await world.enqueue(worktree)
  world.gitIn(worktree.top, 'commit', '-q', '--allow-empty', '-m', 'somebody was here')
  write(worktree.top, { 'a.txt': 'changed\n', 'loose.txt': 'loose\n' })
  await left(world, { state: 'rebasing' })
  await recover(world.driver)
  assert.equal((await world.row('t-000001')).state, 'queued')
  const kept = world.git('for-each-ref', '--format=%(refname)', 'refs/pcc/archive/t-000001').trim().split('\n')
  assert.ok(kept.some(ref => world.git('ls-tree', '-r', '--name-only', ref).includes('loose.txt')))
  assert.ok(kept.some(ref => world.git('log', '--format=%s', ref).includes('somebody was here')))
  await world.advance()
  assert.deepEqual(world.subjects(), ['work of t-000001', 'first'])
}

test('a rebase that stands half done is given up, and done anew', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'a.txt': 'one\ntask\nthree\n' })
  const head = world.tip('pcc/t-000001')
  world.commit({ 'a.txt': 'one\nperson\nthree\n' })
  await world.enqueue(worktree)
  assert.throws(() => world.gitIn(worktree.top, 'rebase', 'main'))
  await left(world, { state: 'rebasing' })
  await recover(world.driver)
  assert.equal(world.gitIn(worktree.top, 'rev-parse', 'HEAD').trim(), head)
  assert.equal(world.gitIn(worktree.top, 'status', '--porcelain', '--branch'), '## pcc/t-000001\n')
  await world.advance()
  assert.equal((await world.row('t-000001')).state, 'conflicted')
})

test('what git says counts: a result that is in the target has landed, whatever was written down', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'new.txt': 'new\n' })
  await world.enqueue(worktree)
  world.git('merge', '-q', '--ff-only', 'pcc/t-000001')
  await left(world, { state: 'landing', result: world.tip('main') })
  await recover(world.driver)
  assert.deepEqual(world.told, [{ kind: 'merged', task: 't-000001' }])
  assert.equal(world.git('branch', '--list', 'pcc/*'), '', 'and is tidied up')
})

test('a worktree whose file .git leads elsewhere is not believed', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'a.txt': 'new\n' })
  await world.enqueue(worktree)
  write(world.project, { 'a.txt': 'in the middle of something\n' })
  write(worktree.top, { '.git': `gitdir: ${world.project}/.git\n` })
  await left(world, { state: 'rebasing' })
  await recover(world.driver)
  await world.advance()
  assert.match(world.git('status', '--porcelain'), /^ M a\.txt/, 'the person’s checkout is as it was')
  assert.match((await world.row('t-000001')).reason ?? '', /has changes that are not committed/)
})

test('what an older attempt left of its merge does not touch the worktree of the newer one, which has the same directory', async t => {
  const world = await openMergeFixture(t)
  const first = await world.enqueue(await world.work('t-000001', { 'new.txt': 'first\n' }))
  await left(world, { state: 'rebasing' })
  const newer = await world.work('t-000001', { 'new.txt': 'second\n' }, { attempt: 2 })
  write(newer.top, { 'loose.txt': 'loose\n' })
  const look = () => [
    world.gitIn(newer.top, 'log', '-1', '--format=%H %s').trim(),
    world.gitIn(newer.top, 'status', '--porcelain'),
    readFileSync(join(newer.top, 'new.txt'), 'utf8'),
  ]
  const before = look()
  await recover(world.driver)
  assert.deepEqual(look(), before, 'it is not put back to the work of the older attempt')
  await left(world, { state: 'merged', result: world.tip('main') })
  await recover(world.driver)
  assert.deepEqual(look(), before, 'nor removed with what the older attempt left')
  assert.equal((await world.deps.store.worktrees.get(newer))?.state, 'live')
  assert.notEqual((await world.deps.store.merges.get(first.id))?.cleaned_at, null)
})

test('work of a newer attempt gets a merge of its own, and that of the older one is called off', async t => {
  const world = await openMergeFixture(t)
  const { store } = world.deps
  const first = await world.enqueue(await world.work('t-000001', { 'new.txt': 'first\n' }))
  const newer = await world.work('t-000001', { 'new.txt': 'second\n' }, { attempt: 2 })
  const second = await world.enqueue(newer)
  const gone = await store.merges.get(first.id)
  assert.deepEqual([gone?.state, gone?.reason, gone?.head], ['aborted', 'attempt 2 took its place', first.head])
  assert.deepEqual([second.attempt, second.state, second.head], [2, 'queued', world.tip('pcc/t-000001')])
  assert.deepEqual(await world.enqueue(newer), second, 'asked again for the same work')
})
