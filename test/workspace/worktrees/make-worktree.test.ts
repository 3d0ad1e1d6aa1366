import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gitWithHiccup } from '../git/hiccup.ts'
import { openWorktreeFixture, write } from './worktree-fixture.ts'

test('an attempt gets a worktree on a branch of its own, from the tip of what is checked out', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  assert.deepEqual(
    [worktree.branch, worktree.target, worktree.base, worktree.directory],
    ['pcc/t-000001', 'main', world.git('rev-parse', 'main').trim(), worktree.top],
  )
  assert.equal(world.gitIn(worktree.top, 'branch', '--show-current').trim(), 'pcc/t-000001')
  assert.equal(readFileSync(join(worktree.top, 'README.md'), 'utf8'), '# sample\n')
  assert.equal((await world.deps.store.worktrees.get(worktree))?.state, 'live')
  assert.deepEqual(await world.make(), worktree, 'asked again, it is the same')
})

test('a merged and clean worktree is removed with its branch', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  write(worktree.top, { 'new.txt': 'new\n' })
  world.gitIn(worktree.top, 'add', '-A')
  world.gitIn(worktree.top, 'commit', '-qm', 'work')
  world.git('merge', '-q', '--ff-only', 'pcc/t-000001')
  assert.deepEqual(await world.remove(worktree), { kind: 'removed' })
  assert.ok(!existsSync(worktree.top))
  assert.equal(world.git('branch', '--list', 'pcc/*'), '')
  assert.equal(world.git('worktree', 'list').trim().split('\n').length, 1)
})

test('what was never committed is archived with everything before the worktree goes', async t => {
  const world = await openWorktreeFixture(t, { files: { 'a.txt': 'a\n', 'b.txt': 'b\n', '.gitignore': 'ignored\n' } })
  const worktree = await world.make()
  write(worktree.top, { 'done.txt': 'done\n' })
  world.gitIn(worktree.top, 'add', '-A')
  world.gitIn(worktree.top, 'commit', '-qm', 'work')
  write(worktree.top, { 'a.txt': 'changed\n', 'dir/new ü\n.txt': 'new\n', ignored: 'x' })
  const removal = await world.remove(worktree)
  assert.ok(removal.kind === 'archived', JSON.stringify(removal))
  assert.equal(removal.ref, 'refs/pcc/archive/t-000001/1')
  const history = world.git('log', '--format=%s', removal.ref).trim().split('\n')
  assert.deepEqual(history, ['pcc: worktree of t-000001, attempt 1', 'work', 'first'], 'nothing was staged')
  const files = world.git('ls-tree', '-r', '-z', '--name-only', removal.ref).split('\0').filter(Boolean)
  assert.deepEqual(files, ['.gitignore', 'a.txt', 'b.txt', 'dir/new ü\n.txt', 'done.txt'])
  assert.equal(world.git('show', `${removal.ref}:a.txt`), 'changed\n')
  assert.ok(!existsSync(worktree.top))
})

test('a worktree that could not be added in the moment in which another git removed the last one is added all the same', async t => {
  const world = await openWorktreeFixture(t)
  gitWithHiccup(t, {
    call: 'worktree add',
    // Git has made the branch by then.
    first: 'branch -q pcc/t-000001 main',
    says: "fatal: could not create directory of '.git/worktrees/t-000001': No such file or directory",
  })
  const worktree = await world.make()
  assert.equal(world.gitIn(worktree.top, 'branch', '--show-current').trim(), 'pcc/t-000001')
  assert.equal((await world.deps.store.worktrees.get(worktree))?.state, 'live')
})

test('a lock that another git holds too long is no refusal: the place is busy, nothing is left of it, and later it is made', async t => {
  const world = await openWorktreeFixture(t)
  world.git('branch', 'pcc/other')
  const lock = join(world.project, '.git', 'refs', 'heads', 'pcc', 't-000001.lock')
  writeFileSync(lock, '')
  await assert.rejects(world.make(), { code: 'place_busy', message: /t-000001\.lock': File exists/ })
  assert.equal(world.git('worktree', 'list').trim().split('\n').length, 1)
  rmSync(lock)
  assert.ok(existsSync((await world.make()).top))
})
