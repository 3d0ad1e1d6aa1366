import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import type { Conflict } from '../../../src/domain/merge.ts'
import { MERGE_STRATEGIES, type MergeStrategy } from '../../../src/domain/option-values.ts'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { continueRebase } from '../../../src/workspace/merge/continue-replay.ts'
import { write } from '../worktrees/worktree-fixture.ts'
import { type MergeFixture, openMergeFixture } from './merge-fixture.ts'

/** A task and a person change the same line. */
async function conflicting(world: MergeFixture, strategy: MergeStrategy = 'rebase'): Promise<Worktree> {
  const worktree = await world.work('t-000001', { 'a.txt': 'one\ntask\nthree\n' })
  world.commit({ 'a.txt': 'one\nperson\nthree\n' })
  await world.enqueue(worktree, { strategy })
  await world.advance()
  assert.equal((await world.row('t-000001')).state, 'conflicted')
  return worktree
}

function conflictOf(world: MergeFixture): Conflict {
  const last = world.told.at(-1)
  assert.ok(last?.kind === 'conflicted' && last.conflict)
  return last.conflict
}

for (const strategy of MERGE_STRATEGIES) {
  test(`a conflict of a ${strategy} goes to its own conversation, comes back resolved and lands`, async t => {
    const world = await openMergeFixture(t)
    const worktree = await conflicting(world, strategy)
    const { files, count, kind } = conflictOf(world)
    assert.deepEqual([kind, count, files[0]?.path], [strategy === 'rebase' ? 'rebase' : 'merge', 1, 'a.txt'])
    assert.equal(files[0]?.what, 'changed on both sides')
    assert.match(files[0]?.hunks ?? '', /^one\n<<<<<<< .*\n(person|task)\n=======\n(person|task)\n>>>>>>> .*\nthree/)
    write(worktree.top, { 'a.txt': 'one\nboth\nthree\n', 'beside.txt': 'not added\n' })
    world.gitIn(worktree.top, 'add', 'a.txt')
    assert.deepEqual(await continueRebase(worktree), { kind: 'done' })
    assert.equal(world.gitIn(worktree.top, 'status', '--porcelain'), '')
    assert.equal(world.gitIn(worktree.top, 'branch', '--show-current').trim(), 'pcc/t-000001')
    await world.enqueue(worktree, { strategy })
    await world.advance()
    assert.equal((await world.row('t-000001')).state, 'merged')
    assert.equal(world.git('show', 'main:a.txt'), 'one\nboth\nthree\n')
    assert.equal(world.git('show', 'main:beside.txt'), 'not added\n', 'what it left beside it is part of its work')
    assert.equal(world.git('status', '--porcelain'), '')
    const merges = world.git('rev-list', '--merges', '--count', 'main').trim()
    assert.equal(merges, strategy === 'merge' ? '1' : '0')
    const message = strategy === 'merge' ? 'Merge pcc/t-000001: t-000001' : 'work of t-000001'
    assert.equal(world.git('log', '-1', '--format=%B', 'main').trimEnd(), message)
    if (strategy === 'merge')
      assert.match(world.git('log', '-1', '--format=%s', 'main^1'), /by hand/, 'the target comes first')
  })
}

test('what is not finished is said: markers that are left, files that are not added', async t => {
  const world = await openMergeFixture(t, { files: { 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'b\n' } })
  const worktree = await world.work('t-000001', { 'a.txt': 'one\ntask\nthree\n', 'b.txt': 'task\n' })
  world.commit({ 'a.txt': 'one\nperson\nthree\n', 'b.txt': 'person\n' })
  await world.enqueue(worktree)
  await world.advance()
  write(worktree.top, { 'b.txt': 'both\n' })
  world.gitIn(worktree.top, 'add', 'a.txt')
  const continued = await continueRebase(worktree)
  assert.ok(continued.kind === 'unresolved')
  assert.deepEqual(continued.missing, [
    'a.txt still has conflict markers (<<<<<<<, =======, >>>>>>>)',
    'b.txt is not marked as resolved: git add b.txt',
  ])
  write(worktree.top, { 'a.txt': 'one\nHeading\n=======\nthree\n' })
  world.gitIn(worktree.top, 'add', '-A')
  assert.deepEqual(await continueRebase(worktree), { kind: 'done' }, 'a heading is no marker')
})

test('the next commit of the same work that conflicts goes round again, and one that is empty now is skipped', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'a.txt': 'one\nfirst\nthree\n' })
  for (const text of ['one\nperson\nthree\n', 'one\nlast\nthree\n']) {
    write(worktree.top, { 'a.txt': text })
    world.gitIn(worktree.top, 'commit', '-qam', `then ${text.split('\n')[1]}`)
  }
  world.commit({ 'a.txt': 'one\nperson\nthree\n' })
  await world.enqueue(worktree)
  await world.advance()
  assert.equal(conflictOf(world).commit, 'work of t-000001')
  write(worktree.top, { 'a.txt': 'one\nmine and person\nthree\n' })
  world.gitIn(worktree.top, 'add', '-A')
  const next = await continueRebase(worktree)
  assert.ok(next.kind === 'conflict', next.kind)
  assert.equal(next.conflict.commit, 'then person')
  // The file is as the commit before left it: nothing of this commit stays.
  world.gitIn(worktree.top, 'checkout', '-q', 'HEAD', '--', 'a.txt')
  const last = await continueRebase(worktree)
  assert.ok(last.kind === 'conflict', last.kind)
  assert.equal(last.conflict.commit, 'then last')
  write(worktree.top, { 'a.txt': 'one\nlast\nthree\n' })
  world.gitIn(worktree.top, 'add', '-A')
  assert.deepEqual(await continueRebase(worktree), { kind: 'done' })
  await world.enqueue(worktree)
  await world.advance()
  assert.deepEqual(world.subjects(), ['then last', 'work of t-000001', 'by hand: a.txt', 'first'])
})

test('a file that one side deletes is told in words', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'a.txt': null })
  world.commit({ 'a.txt': 'one\nperson\nthree\n' })
  await world.enqueue(worktree)
  await world.advance()
  assert.deepEqual(
    conflictOf(world).files.map(({ path, what }) => [path, what]),
    [['a.txt', 'changed in the target, deleted or moved by this task']],
  )
  world.gitIn(worktree.top, 'rm', '-q', 'a.txt')
  assert.deepEqual(await continueRebase(worktree), { kind: 'done' })
})

test('what a conversation gets of a conflict is bounded, whatever the files hold', async t => {
  const many = (who: string) =>
    Object.fromEntries(
      Array.from({ length: 30 }, (_, file) => [`f${file}.txt`, `${`${who} ${'x'.repeat(80)}\n`.repeat(300)}`]),
    )
  const world = await openMergeFixture(t, { files: many('base') })
  const worktree = await world.work('t-000001', many('task'))
  world.commit(many('person'))
  await world.enqueue(worktree)
  await world.advance()
  const { files, count } = conflictOf(world)
  assert.deepEqual([files.length, count], [20, 30])
  assert.ok(files.reduce((sum, { hunks }) => sum + hunks.length, 0) < 26_000)
  assert.match(files[0]?.hunks ?? '', /more in the file/)
})

test('after so many rounds a person is asked, and the worktree stands ready', async t => {
  const world = await openMergeFixture(t)
  const worktree = await conflicting(world)
  for (let round = 2; round <= 6; round += 1) {
    // The agent aborted the rebase instead of resolving the conflict.
    world.gitIn(worktree.top, 'rebase', '--abort')
    await world.enqueue(worktree)
    await world.advance()
    assert.equal((await world.row('t-000001')).state, round <= 5 ? 'conflicted' : 'failed')
  }
  const last = world.told.at(-1)
  assert.ok(last?.kind === 'given_up')
  assert.match(last.why ?? '', /after 5 rounds it still conflicts with main in a\.txt/)
  assert.match(world.gitIn(worktree.top, 'status'), /rebase in progress/)
})

test('nothing stands: there is nothing to go on with', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'new.txt': 'x\n' })
  assert.deepEqual(await continueRebase(worktree), { kind: 'none' })
  assert.ok(existsSync(worktree.top))
})
