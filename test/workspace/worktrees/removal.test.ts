import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { findProcessesIn, parseLsof } from '../../../src/base/process/sweep.ts'
import { noteGateMadeFiles } from '../../../src/workspace/worktrees/worktree-note.ts'
import { recoverWorktrees } from '../../../src/workspace/worktrees/worktrees.ts'
import { gitProject, tempDir } from '../../support/world.ts'
import { openWorktreeFixture, type WorktreeFixture, write } from './worktree-fixture.ts'

const commit = (world: WorktreeFixture, top: string, file: string, text = 'x\n') => {
  write(top, { [file]: text })
  world.gitIn(top, 'add', '-A')
  world.gitIn(top, 'commit', '-qm', file)
  return world.gitIn(top, 'rev-parse', 'HEAD').trim()
}

test('commits that are not merged are archived, and the branch goes', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  const head = commit(world, worktree.top, 'work.txt')
  const removal = await world.remove(worktree)
  assert.ok(removal.kind === 'archived' && removal.why === 'its commits are not merged', JSON.stringify(removal))
  assert.equal(world.git('rev-parse', `${removal.ref}^1`).trim(), head)
  assert.equal(world.git('branch', '--list', 'pcc/*'), '')
})

test('a commit on a detached HEAD is work, although the worktree is clean and its branch is merged', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  world.gitIn(worktree.top, 'checkout', '-q', '--detach')
  const head = commit(world, worktree.top, 'work.txt')
  const why = 'its commits are not merged'
  assert.deepEqual(await world.remove(worktree, { onlyClean: true }), { kind: 'kept', why })
  const removal = await world.remove(worktree)
  assert.ok(removal.kind === 'archived' && removal.why === why, JSON.stringify(removal))
  assert.equal(world.git('rev-parse', `${removal.ref}^1`).trim(), head)
})

test('commits of its branch are work, whatever is checked out meanwhile', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  const tip = commit(world, worktree.top, 'work.txt')
  const kept = { kind: 'kept', why: 'its commits are not merged' }
  world.gitIn(worktree.top, 'checkout', '-q', '--detach', 'main')
  assert.deepEqual(await world.remove(worktree, { onlyClean: true }), kept, 'the tip of its target')
  commit(world, world.project, 'meanwhile.txt')
  assert.deepEqual(await world.remove(worktree, { onlyClean: true }), kept, 'an older commit of its target')
  const removal = await world.remove(worktree)
  assert.ok(removal.kind === 'archived', JSON.stringify(removal))
  assert.equal(world.git('merge-base', tip, removal.ref).trim(), tip)
})

test('without its branch what is checked out decides, and without its target nothing counts as merged', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  commit(world, world.project, 'meanwhile.txt')
  world.gitIn(worktree.top, 'checkout', '-q', '--detach')
  world.git('branch', '-q', '-D', worktree.branch)
  world.git('branch', '-q', '-m', 'main', 'trunk')
  const kept = { kind: 'kept', why: 'its commits are not merged' }
  assert.deepEqual(await world.remove(worktree, { onlyClean: true }), kept)
  world.git('branch', '-q', '-m', 'trunk', 'main')
  assert.deepEqual(await world.remove(worktree), { kind: 'removed' })
})

test('work that reached its target squashed counts as merged where that is known, and only that', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  const landed = commit(world, worktree.top, 'work.txt')
  world.git('merge', '-q', '--squash', worktree.branch)
  world.git('commit', '-qm', 'squashed')
  commit(world, worktree.top, 'later.txt')
  assert.equal((await world.remove(worktree, { landed, onlyClean: true })).kind, 'kept', 'one commit more is not in it')
  world.gitIn(worktree.top, 'reset', '-q', '--hard', landed)
  assert.deepEqual(await world.remove(worktree, { landed }), { kind: 'removed' })
})

test('what is staged, stashed, hidden from git, on another branch or in conflict is in the archive too', async t => {
  const world = await openWorktreeFixture(t, { files: { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' } })
  const worktree = await world.make()
  const onBranch = commit(world, worktree.top, 'branch.txt')
  write(worktree.top, { 'a.txt': 'stashed\n' })
  world.gitIn(worktree.top, 'stash', '-q')
  world.gitIn(worktree.top, 'checkout', '-q', '--detach', 'main')
  const detached = commit(world, worktree.top, 'detached.txt')
  write(worktree.top, { 'b.txt': 'staged\n' })
  world.gitIn(worktree.top, 'add', 'b.txt')
  write(worktree.top, { 'b.txt': 'later\n' })
  world.gitIn(worktree.top, 'update-index', '--assume-unchanged', 'c.txt')
  world.gitIn(worktree.top, 'update-index', '--skip-worktree', 'a.txt')
  write(worktree.top, { 'a.txt': 'behind its back\n', 'c.txt': 'hidden\n' })
  const removal = await world.remove(worktree)
  assert.ok(removal.kind === 'archived', JSON.stringify(removal))
  const show = (name: string) => world.git('show', `${removal.ref}:${name}`)
  assert.deepEqual([show('a.txt'), show('b.txt'), show('c.txt')], ['behind its back\n', 'later\n', 'hidden\n'])
  const parents = world.git('rev-list', '--parents', '-1', removal.ref).trim().split(' ').slice(1)
  assert.equal(parents[0], detached)
  assert.ok(parents.includes(onBranch))
  const staged = parents.filter(each => world.git('log', '-1', '--format=%s', each).startsWith('pcc: what was staged'))
  assert.equal(world.git('show', `${staged[0]}:b.txt`), 'staged\n')
  world.git('stash', 'drop', '-q')
  const kept = parents.filter(each => world.git('log', '-1', '--format=%s', each).startsWith('WIP on'))
  assert.equal(world.git('show', `${kept[0]}:a.txt`), 'stashed\n')
})

test('a stash of somebody else is no reason to keep anything', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  write(world.project, { 'README.md': 'mine\n' })
  world.git('stash', '-q')
  assert.deepEqual(await world.remove(worktree), { kind: 'removed' })
  assert.match(world.git('stash', 'list'), /WIP on main/)
})

test('a conflict in the middle of a rebase is archived with its markers and the branch as it was', async t => {
  const world = await openWorktreeFixture(t, { files: { 'a.txt': 'a\n' } })
  const worktree = await world.make()
  const work = commit(world, worktree.top, 'a.txt', 'ours\n')
  commit(world, world.project, 'a.txt', 'theirs\n')
  assert.throws(() => world.gitIn(worktree.top, 'rebase', '-q', 'main'))
  const removal = await world.remove(worktree)
  assert.ok(removal.kind === 'archived', JSON.stringify(removal))
  assert.match(world.git('show', `${removal.ref}:a.txt`), /<<<<<<<[\s\S]*ours/)
  assert.equal(world.git('merge-base', work, removal.ref).trim(), work, 'what was to be rebased is reachable')
})

test('while a process works in it nothing is removed, and afterwards it is', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  const folder = join(worktree.top, 'deep')
  mkdirSync(folder)
  const child = spawn('sleep', ['60'], { cwd: folder, stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  const kept = await world.remove(worktree)
  assert.ok(
    kept.kind === 'kept' && kept.why.includes(`process ${child.pid} (sleep) works in it; end it`),
    JSON.stringify(kept),
  )
  assert.equal((await world.deps.store.worktrees.get(worktree))?.reason, kept.why)
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.deepEqual(await world.remove(worktree), { kind: 'removed' })
})

test('where only lsof tells who works where, its lines are read', () => {
  const found = parseLsof('p12\nfcwd\nn/Users/a/my project\np13\nfcwd\nn/\n')
  assert.deepEqual(found, [
    { pid: 12, cwd: '/Users/a/my project' },
    { pid: 13, cwd: '/' },
  ])
})

test('a directory next to one of a longer name is not taken for it', async t => {
  const dir = tempDir(t)
  const [short, long] = [join(dir, 'tree'), join(dir, 'tree-2')]
  mkdirSync(short)
  mkdirSync(long)
  const child = spawn('sleep', ['60'], { cwd: long, stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  assert.deepEqual(await findProcessesIn(short), [])
  assert.deepEqual(
    (await findProcessesIn(long))?.map(({ pid }) => pid),
    [child.pid],
  )
})

test('a repository that an agent made inside of it keeps the worktree from being removed', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  mkdirSync(join(worktree.top, 'inner'))
  world.gitIn(join(worktree.top, 'inner'), 'init', '-q')
  commit(world, join(worktree.top, 'inner'), 'precious.txt')
  const kept = await world.remove(worktree)
  assert.ok(kept.kind === 'kept' && kept.why.includes('inner'), JSON.stringify(kept))
})

test('a .git that points at another repository is pointed back, and what was hidden that way is archived', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  write(worktree.top, { 'precious.txt': 'p\n' })
  const other = gitProject(t, { 'README.md': '# sample\n', 'precious.txt': 'p\n' })
  writeFileSync(join(worktree.top, '.git'), `gitdir: ${join(other, '.git')}\n`)
  const removal = await world.remove(worktree)
  assert.ok(removal.kind === 'archived', JSON.stringify(removal))
  assert.equal(world.git('show', `${removal.ref}:precious.txt`), 'p\n')
})

test('a directory that was deleted by hand leaves its commits in the archive, and comes back from there', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  const head = commit(world, worktree.top, 'work.txt')
  rmSync(worktree.top, { recursive: true })
  assert.deepEqual(await world.make(), worktree, 'asked for again')
  assert.equal(world.gitIn(worktree.top, 'rev-parse', 'HEAD').trim(), head)
  assert.equal(readFileSync(join(worktree.top, 'work.txt'), 'utf8'), 'x\n')
  rmSync(worktree.top, { recursive: true })
  assert.equal(await recoverWorktrees(world.deps), 1)
  const row = await world.deps.store.worktrees.get(worktree)
  assert.equal(row?.state, 'archived')
  assert.equal(world.git('rev-parse', row?.archive ?? '').trim(), head)
  assert.equal(world.git('worktree', 'list').trim().split('\n').length, 1)
})

test('a commit on a detached HEAD outlives the directory that was deleted by hand', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  const onBranch = commit(world, worktree.top, 'branch.txt')
  world.gitIn(worktree.top, 'checkout', '-q', '--detach', 'main')
  const detached = commit(world, worktree.top, 'detached.txt')
  rmSync(worktree.top, { recursive: true })
  assert.equal((await world.remove(worktree)).kind, 'archived')
  const kept = world.git('for-each-ref', '--format=%(objectname)', `refs/pcc/archive/${worktree.task}`)
  assert.deepEqual(kept.trim().split('\n').sort(), [onBranch, detached].sort())
})

test('a commit on a detached HEAD is all that is kept of a deleted directory without a branch of its own work', async t => {
  const world = await openWorktreeFixture(t)
  for (const [attempt, isBranchGone] of [false, true].entries()) {
    const worktree = await world.make({ attempt: attempt + 1 })
    world.gitIn(worktree.top, 'checkout', '-q', '--detach')
    const head = commit(world, worktree.top, `work-${attempt}.txt`)
    if (isBranchGone) world.git('branch', '-q', '-D', worktree.branch)
    rmSync(worktree.top, { recursive: true })
    const removal = await world.remove(worktree)
    assert.ok(removal.kind === 'archived', JSON.stringify(removal))
    assert.equal(world.git('rev-parse', removal.ref).trim(), head)
  }
  const third = await world.make({ attempt: 3 })
  world.git('update-ref', '-d', `refs/heads/${third.branch}`)
  rmSync(third.top, { recursive: true })
  assert.deepEqual(await world.remove(third), { kind: 'removed' }, 'nothing is checked out there any more')
})

test('a start without the disk on which worktrees lie gives none of them up', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  write(worktree.top, { 'precious.txt': 'p\n' })
  const away = `${world.deps.root}-away`
  renameSync(world.deps.root, away)
  mkdirSync(world.deps.root)
  assert.equal(await recoverWorktrees(world.deps), 0)
  rmSync(world.deps.root, { recursive: true })
  renameSync(away, world.deps.root)
  assert.deepEqual(await world.make(), worktree)
  assert.equal(world.gitIn(worktree.top, 'status', '--porcelain'), '?? precious.txt\n')
})

test('a worktree that git was made to forget is known to it again, with all that is in it', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  commit(world, worktree.top, 'done.txt')
  write(worktree.top, { 'a.txt': 'changed\n', 'new.txt': 'new\n' })
  rmSync(join(world.project, '.git/worktrees'), { recursive: true })
  // What a daemon that died in the middle would have left.
  mkdirSync(join(world.project, '.git/worktrees', basename(worktree.top)), { recursive: true })
  const again = await world.make()
  assert.equal(again.top, worktree.top)
  assert.deepEqual(
    readdirSync(join(world.project, '.git')).filter(name => name.startsWith('pcc-')),
    [],
  )
  assert.equal(world.gitIn(worktree.top, 'symbolic-ref', 'HEAD').trim(), `refs/heads/${worktree.branch}`)
  assert.match(world.gitIn(worktree.top, 'status', '--porcelain'), /new\.txt/)
  assert.equal(readFileSync(join(worktree.top, 'a.txt'), 'utf8'), 'changed\n')
  const removal = await world.remove(again)
  assert.equal(removal.kind, 'archived')
  assert.equal(existsSync(worktree.top), false)
})

test('a worktree whose folder is gone with all folders above it is removed from git’s list', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  rmSync(dirname(worktree.top), { recursive: true })
  assert.equal((await world.remove(worktree)).kind, 'removed')
  assert.equal(world.git('worktree', 'list', '--porcelain').includes(worktree.top), false)
})

test('a worktree whose repository is gone stays as it is', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  rmSync(world.project, { recursive: true })
  const kept = await world.remove(worktree)
  assert.ok(kept.kind === 'kept' && kept.why.includes('is gone'), JSON.stringify(kept))
  assert.ok(existsSync(join(worktree.top, 'README.md')))
})

test('the next attempt begins anew, and what the one before left is in the archive', async t => {
  const world = await openWorktreeFixture(t)
  const first = await world.make()
  write(first.top, { 'half.txt': 'half\n' })
  const second = await world.make({ attempt: 2 })
  assert.equal(existsSync(join(second.top, 'half.txt')), false)
  assert.equal(second.top, first.top)
  const row = await world.deps.store.worktrees.get(first)
  assert.deepEqual([row?.state, world.git('show', `${row?.archive}:half.txt`)], ['archived', 'half\n'])
  await assert.rejects(world.make({ attempt: 1 }), /attempt 2 has it, and this is attempt 1/)
})

test('files that a gate’s command made are no reason to keep a merged worktree', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  write(worktree.top, { 'report.xml': '<r/>\n' })
  assert.equal((await world.remove(worktree, { onlyClean: true })).kind, 'kept')
  await noteGateMadeFiles(worktree.top, ['report.xml'], true)
  assert.deepEqual(await world.remove(worktree), { kind: 'removed' })
})

test('a new file whose name is not UTF-8 is archived with the rest', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  writeFileSync(Buffer.concat([Buffer.from(`${worktree.top}/notes`), Buffer.of(0xe9), Buffer.from('.txt')]), 'mine\n')
  const removal = await world.remove(worktree)
  assert.ok(removal.kind === 'archived', JSON.stringify(removal))
  assert.match(world.git('ls-tree', '-r', '--name-only', removal.ref), /^"notes\\351\.txt"$/m)
})
