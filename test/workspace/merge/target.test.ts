import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MERGE_STRATEGIES } from '../../../src/domain/option-values.ts'
import { moveTarget } from '../../../src/workspace/merge/move-target.ts'
import { tempDir } from '../../support/world.ts'
import { write } from '../worktrees/worktree-fixture.ts'
import { type MergeFixture, openMergeFixture } from './merge-fixture.ts'

/** Queues work that adds `new.txt` and changes `a.txt`, and returns why it does not land. */
async function held(world: MergeFixture): Promise<string> {
  const before = world.tip('main')
  await world.enqueue(await world.work('t-000001', { 'new.txt': 'new\n', 'a.txt': 'changed\n' }))
  const { checkAgainAt } = await world.advance()
  assert.equal(world.tip('main'), before, 'the target did not move')
  assert.ok(checkAgainAt !== undefined && checkAgainAt > world.deps.clock.now(), 'it is looked at again')
  const { state, reason } = await world.row('t-000001')
  assert.equal(state, 'waiting')
  return reason ?? ''
}

async function landsNow(world: MergeFixture): Promise<void> {
  assert.deepEqual(await world.advance(), {})
  assert.deepEqual(world.told.at(-1), { kind: 'merged', task: 't-000001' })
  assert.equal(readFileSync(join(world.project, 'new.txt'), 'utf8'), 'new\n')
  assert.equal(world.git('status', '--porcelain', '--untracked-files=no'), '')
}

test('a checkout with changes is not touched: the merge waits, says which files, and lands once they are gone', async t => {
  const world = await openMergeFixture(t)
  write(world.project, { 'a.txt': 'in the middle of something\n' })
  assert.match(await held(world), /has changes that are not committed: a\.txt\. Commit or stash them/)
  assert.equal(readFileSync(join(world.project, 'a.txt'), 'utf8'), 'in the middle of something\n')
  const events = await world.deps.store.events({ kinds: ['merge.held_up'] })
  await world.advance()
  assert.deepEqual(await world.deps.store.events({ kinds: ['merge.held_up'] }), events, 'it is told once')
  world.git('checkout', '-q', '--', 'a.txt')
  await landsNow(world)
})

test('a file that was touched and not changed is in nobody’s way', async t => {
  const world = await openMergeFixture(t)
  utimesSync(join(world.project, 'a.txt'), 1, 1)
  await world.enqueue(await world.work('t-000001', { 'new.txt': 'new\n', 'a.txt': 'changed\n' }))
  await landsNow(world)
})

test('changes to other files stay as they are, staged or not, and the merge lands', async t => {
  const files = { 'a.txt': 'one\n', 'b.txt': 'b\n', 'c.txt': 'c\n', 'gone.txt': 'x\n', 'sub/d.txt': 'd\n' }
  const world = await openMergeFixture(t, { files })
  write(world.project, { 'b.txt': 'half staged\n', 'c.txt': 'changed\n', 'staged.txt': 'x\n', 'sub/d.txt': 'mine\n' })
  world.git('add', 'b.txt', 'staged.txt')
  write(world.project, { 'b.txt': 'and changed again\n' })
  rmSync(join(world.project, 'gone.txt'))
  const look = () => [world.git('status', '--porcelain'), world.git('diff'), world.git('diff', '--cached')]
  const before = look()
  await world.enqueue(await world.work('t-000001', { 'new.txt': 'new\n', 'a.txt': 'changed\n', 'sub/e.txt': 'e\n' }))
  assert.deepEqual(await world.advance(), {})
  assert.deepEqual(world.told.at(-1), { kind: 'merged', task: 't-000001' })
  assert.deepEqual(look(), before)
  assert.equal(readFileSync(join(world.project, 'a.txt'), 'utf8'), 'changed\n')
  assert.equal(world.tip('HEAD'), world.tip('main'))
})

test('staged changes to a file of the merge hold it up; merges behind it land meanwhile, alone or together with others', async t => {
  for (const batch of [1, 4]) {
    const world = await openMergeFixture(t, { batch })
    write(world.project, { 'a.txt': 'staged\n' })
    world.git('add', 'a.txt')
    await world.enqueue(await world.work('t-000001', { 'new.txt': 'new\n', 'a.txt': 'changed\n' }))
    await world.enqueue(await world.work('t-000002', { 'other.txt': 'other\n' }))
    const { checkAgainAt } = await world.advance()
    assert.ok(checkAgainAt !== undefined)
    assert.match((await world.row('t-000001')).reason ?? '', /not committed: a\.txt/)
    assert.equal((await world.row('t-000002')).state, 'merged')
    assert.equal(world.git('diff', '--cached', '--name-only'), 'a.txt\n')
    world.git('reset', '-q', '--hard')
    await landsNow(world)
  }
})

test('a file that git does not know holds a merge up where it would be overwritten, an ignored one too', async t => {
  const world = await openMergeFixture(t, { files: { 'a.txt': 'one\n', '.gitignore': 'new.txt\n' } })
  write(world.project, { 'new.txt': 'mine\n' })
  const worktree = await world.make({ task: 't-000001', attempt: 1 })
  write(worktree.top, { 'new.txt': 'new\n', 'folder/inner.txt': 'x\n' })
  world.gitIn(worktree.top, 'add', '-f', '-A')
  world.gitIn(worktree.top, 'add', '-f', 'new.txt')
  world.gitIn(worktree.top, 'commit', '-qm', 'work')
  write(world.project, { folder: 'a file where a folder has to be\n' })
  await world.enqueue(worktree)
  await world.advance()
  const { reason } = await world.row('t-000001')
  assert.match(reason ?? '', /would be overwritten: folder, new\.txt\. Move them away/)
  assert.equal(readFileSync(join(world.project, 'new.txt'), 'utf8'), 'mine\n')
  rmSync(join(world.project, 'new.txt'))
  rmSync(join(world.project, 'folder'))
  await landsNow(world)
})

test('a checkout in which a rebase, a merge or a bisect is under way is not touched', async t => {
  const world = await openMergeFixture(t)
  world.git('branch', 'other')
  world.commit({ 'a.txt': 'main\n' })
  world.git('switch', '-q', 'other')
  world.commit({ 'a.txt': 'other\n' })
  world.git('switch', '-q', 'main')
  await world.enqueue(await world.work('t-000001', { 'new.txt': 'new\n' }))
  const reason = async () => {
    await world.advance()
    return (await world.row('t-000001')).reason ?? ''
  }
  assert.throws(() => world.git('rebase', 'other'))
  assert.match(await reason(), /a rebase is under way in .*: finish or abort it/, 'HEAD is not even on main')
  world.git('rebase', '--abort')
  assert.throws(() => world.git('merge', 'other'))
  assert.match(await reason(), /a merge is under way/)
  world.git('merge', '--abort')
  world.git('bisect', 'start', 'main', 'main~1')
  assert.match(await reason(), /a bisect is under way/)
  world.git('bisect', 'reset')
  await landsNow(world)
})

test('another git command in the checkout holds a merge up, and its lock is left alone', async t => {
  const world = await openMergeFixture(t)
  const lock = join(world.project, '.git', 'index.lock')
  writeFileSync(lock, '')
  assert.match(await held(world), /another git command is at work in .*index\.lock is there/)
  assert.ok(existsSync(lock))
  rmSync(lock)
  await landsNow(world)
})

test('a target that is checked out nowhere is moved by itself', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'new.txt': 'new\n' })
  world.git('switch', '-q', '-c', 'elsewhere')
  write(world.project, { 'a.txt': 'in the middle of something else\n' })
  await world.enqueue(worktree)
  await world.advance()
  assert.deepEqual(world.subjects(), ['work of t-000001', 'first'])
  assert.ok(!existsSync(join(world.project, 'new.txt')))
  assert.match(world.git('reflog', 'main', '-1'), /pcc: merge t-000001/)
})

test('a target that is checked out in another worktree is moved with that one', async t => {
  const world = await openMergeFixture(t)
  world.git('switch', '-q', '-c', 'elsewhere')
  const other = join(tempDir(t), 'other')
  world.git('worktree', 'add', '-q', other, 'main')
  write(other, { 'a.txt': 'dirty\n' })
  const worktree = await world.work('t-000001', { 'new.txt': 'new\n', 'a.txt': 'new\n' }, { target: 'main' })
  await world.enqueue(worktree)
  await world.advance()
  assert.match((await world.row('t-000001')).reason ?? '', /other has changes that are not committed: a\.txt/)
  world.gitIn(other, 'checkout', '-q', '--', 'a.txt')
  await world.advance()
  assert.equal(readFileSync(join(other, 'new.txt'), 'utf8'), 'new\n')
  assert.equal(world.gitIn(other, 'status', '--porcelain'), '')
})

test('a person who commits to the target while the gates run loses nothing: the work is queued anew', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'new.txt': 'new\n' })
  world.commit({ 'first.txt': '1\n' })
  let isFirst = true
  world.gates(() => {
    if (isFirst) world.commit({ 'second.txt': '2\n' })
    isFirst = false
    return 'passed'
  })
  await world.enqueue(worktree)
  await world.advance()
  assert.deepEqual(world.subjects(), ['work of t-000001', 'by hand: second.txt', 'by hand: first.txt', 'first'])
  assert.equal(world.told.filter(({ kind }) => kind === 'verified').length, 2, 'it was verified on what landed')
  assert.equal(world.git('status', '--porcelain'), '')
})

test('deletions, modes, links and folders that become files arrive in the checkout', async t => {
  const world = await openMergeFixture(t, { files: { 'dir/a.txt': 'a\n', 'gone.txt': 'x\n', 'run.sh': 'echo\n' } })
  const worktree = await world.make({ task: 't-000001', attempt: 1 })
  rmSync(join(worktree.top, 'dir'), { recursive: true })
  rmSync(join(worktree.top, 'gone.txt'))
  write(worktree.top, { dir: 'a file now\n' })
  chmodSync(join(worktree.top, 'run.sh'), 0o755)
  world.gitIn(worktree.top, 'add', '-A')
  world.gitIn(worktree.top, 'commit', '-qm', 'work')
  await world.enqueue(worktree)
  await world.advance()
  assert.equal((await world.row('t-000001')).state, 'merged')
  assert.equal(world.git('status', '--porcelain'), '')
  assert.equal(readFileSync(join(world.project, 'dir'), 'utf8'), 'a file now\n')
  assert.ok(!existsSync(join(world.project, 'gone.txt')))
})

test('hooks and signatures of the repository never run', async t => {
  const world = await openMergeFixture(t)
  const proof = join(tempDir(t), 'ran')
  for (const hook of [
    'pre-commit',
    'commit-msg',
    'post-checkout',
    'post-merge',
    'pre-rebase',
    'post-rewrite',
    'reference-transaction',
    'post-index-change',
    'prepare-commit-msg',
    'post-commit',
    'pre-merge-commit',
  ]) {
    const file = join(world.project, '.git', 'hooks', hook)
    write(world.project, { [`.git/hooks/${hook}`]: `#!/bin/sh\necho ${hook} >>${proof}\n` })
    chmodSync(file, 0o755)
  }
  const paths = []
  for (const [index, strategy] of MERGE_STRATEGIES.entries()) {
    const task = `t-00000${index + 1}`
    paths.push({ worktree: await world.work(task, { [`${task}.txt`]: 'new\n' }), strategy })
  }
  world.git('config', 'commit.gpgSign', 'true')
  world.git('config', 'gpg.program', join(world.project, '.git', 'hooks', 'pre-commit'))
  rmSync(proof, { force: true })
  for (const { worktree, strategy } of paths) await world.enqueue(worktree, { strategy })
  await world.advance()
  assert.equal(world.told.filter(({ kind }) => kind === 'merged').length, MERGE_STRATEGIES.length)
  assert.ok(!existsSync(proof), existsSync(proof) ? readFileSync(proof, 'utf8') : '')
})

test('a target stays where it is while git cannot tell in which checkouts it is', async t => {
  const world = await openMergeFixture(t)
  await world.work('t-000001', { 'new.txt': 'new\n' })
  const move = { ...world.queue, from: world.tip('main'), to: world.tip('pcc/t-000001'), message: 'merge', places: [] }
  const half = join(world.project, '.git', 'worktrees', 'half')
  mkdirSync(half, { recursive: true })
  write(half, { gitdir: '/nowhere/.git\n', HEAD: 'ref: refs/heads/other\n', commondir: '' })
  const moved = await moveTarget(move)
  assert.ok(moved.kind === 'blocked' && moved.why.startsWith('git cannot tell where main is checked out'))
  rmSync(half, { recursive: true })
  assert.equal(world.tip('main'), move.from)
  assert.equal((await moveTarget(move)).kind, 'moved')
})
