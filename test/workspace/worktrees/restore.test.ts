import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { commitLeftovers } from '../../../src/workspace/verify/commit-leftovers.ts'
import { openLate, readNote } from '../../../src/workspace/worktrees/worktree-note.ts'
import { openWorktrees } from '../../../src/workspace/worktrees/worktrees.ts'
import { openWorktreeFixture, write } from './worktree-fixture.ts'

test('bringing an older attempt back first puts away the one that stands there, with all that is in it', async t => {
  const world = await openWorktreeFixture(t)
  const first = await world.make()
  write(first.top, { 'first.txt': 'first\n' })
  const second = await world.make({ attempt: 2 })
  write(second.top, { 'second.txt': 'not committed\n' })
  const back = await openWorktrees(world.deps).restore('t-000001')
  assert.equal(back.attempt, 1)
  assert.equal(readFileSync(join(back.top, 'first.txt'), 'utf8'), 'first\n')
  const row = await world.deps.store.worktrees.get({ task: 't-000001', attempt: 2 })
  assert.equal(row?.state, 'archived')
  assert.equal(world.git('show', `${row?.archive}:second.txt`), 'not committed\n')
})

test('that a worktree was made, removed and restored are events of its task', async t => {
  const world = await openWorktreeFixture(t)
  const { store } = world.deps
  const worktree = await world.make()
  await world.make() // it is there already
  write(worktree.top, { 'work.txt': 'work\n' })
  await world.remove(worktree)
  await openWorktrees(world.deps).restore('t-000001')
  world.gitIn(worktree.top, 'clean', '-fdq')
  await world.remove(worktree)
  await world.remove(worktree) // it is gone already
  const ref = (await store.worktrees.get(worktree))?.archive
  const events = await store.events({ subject: 't-000001', kinds: ['worktree.made', 'worktree.removed'] })
  const { branch, target, base, directory } = worktree
  const attempt = { task: 't-000001', attempt: 1, branch }
  assert.deepEqual(
    events.map(({ kind, body }) => [kind, body]),
    [
      ['worktree.made', { ...attempt, target, base, directory }],
      ['worktree.removed', { ...attempt, archive: ref, reason: '1 file was not committed' }],
      ['worktree.made', { ...attempt, target, base, directory, restored: ref }],
      ['worktree.removed', attempt],
    ],
  )
})

test('what git ignores and was staged by force is part of the work when its worktree comes back, so that no gate sees what no commit holds', async t => {
  const world = await openWorktreeFixture(t, { files: { '.gitignore': 'planted\n' } })
  const worktree = await world.make()
  write(worktree.top, { 'planted/stub.js': 'stub\n', 'work.txt': 'work\n' })
  world.gitIn(worktree.top, 'add', '-f', 'planted')
  await world.remove(worktree)
  const back = await openWorktrees(world.deps).restore('t-000001')
  const done = await commitLeftovers(back)
  assert.ok(done.ok)
  assert.equal(world.gitIn(back.top, 'show', `${done.commit}:planted/stub.js`), 'stub\n')
  world.gitIn(back.top, 'rm', '-r', '-q', '--cached', 'planted')
  const isLate = await openLate(back.top, await readNote(back.top))
  const { ino, ctimeMs } = statSync(join(back.top, 'planted/stub.js'))
  assert.equal(isLate({ path: 'planted/stub.js', changed: ctimeMs, placed: 0, inode: ino }), true, 'it is no set-up')
})

test('what somebody put where a worktree was is not removed to bring it back', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  write(worktree.top, { 'work.txt': 'work\n' })
  await world.remove(worktree)
  mkdirSync(worktree.top, { recursive: true })
  write(worktree.top, { 'mine.txt': 'mine\n' })
  await assert.rejects(openWorktrees(world.deps).restore('t-000001'), { code: 'place_refused' })
  assert.ok(existsSync(join(worktree.top, 'mine.txt')))
  assert.equal((await world.deps.store.worktrees.get(worktree))?.state, 'archived')
})

test('commits that a branch got since its worktree was archived are kept when it is brought back', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  write(worktree.top, { 'work.txt': 'work\n' })
  await world.remove(worktree)
  world.git('branch', worktree.branch, 'main')
  world.git('checkout', '-q', worktree.branch)
  world.git('commit', '-q', '--allow-empty', '-m', 'by a person')
  const tip = world.git('rev-parse', 'HEAD').trim()
  world.git('checkout', '-q', 'main')
  await openWorktrees(world.deps).restore('t-000001')
  assert.match(world.git('for-each-ref', '--contains', tip, '--format=%(refname)'), /refs\/pcc\/archive\/t-000001\//)
})

for (const work of ['committed', 'not begun'])
  test(`a worktree whose directory somebody has deleted is made again from its branch: work that was ${work}`, async t => {
    const world = await openWorktreeFixture(t)
    const worktree = await world.make()
    if (work === 'committed') {
      write(worktree.top, { 'work.txt': 'work\n' })
      world.gitIn(worktree.top, 'add', '.')
      world.gitIn(worktree.top, 'commit', '-q', '-m', 'work')
    }
    rmSync(worktree.top, { recursive: true })
    const back = await openWorktrees(world.deps).restore('t-0000')
    assert.deepEqual(back, worktree)
    assert.equal(existsSync(join(back.top, 'work.txt')), work === 'committed')
    assert.equal((await world.deps.store.worktrees.get(worktree))?.state, 'live')
    assert.equal(world.gitIn(back.top, 'branch', '--show-current'), `${worktree.branch}\n`)
  })

test('a worktree that was removed because nothing was in it is made again while its task is open', async t => {
  const world = await openWorktreeFixture(t)
  const { store } = world.deps
  const worktree = await world.make()
  await world.remove(worktree)
  const restore = () => openWorktrees(world.deps).restore('t-000001')
  await assert.rejects(restore(), { code: 'worktree_not_so' })
  const task = { session_id: null, project: world.project, text: 'work', id: 't-000001' }
  await store.transaction(tx => openTasks({ store, clock: world.deps.clock }).submit(task, tx))
  assert.deepEqual(await restore(), worktree)
})
