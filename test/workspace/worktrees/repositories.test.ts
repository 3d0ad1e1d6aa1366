import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AppError } from '../../../src/base/errors.ts'
import { makeWorktree } from '../../../src/workspace/worktrees/make-worktree.ts'
import { openWorktrees } from '../../../src/workspace/worktrees/worktrees.ts'
import { gitProject, tempDir } from '../../support/world.ts'
import { openWorktreeFixture, plainGit, write } from './worktree-fixture.ts'

const WANTED = { task: 't-000001', attempt: 1 }

/** The reason of a refusal, and its remedy. */
const refusedWith = (why: RegExp, remedy: RegExp) => (thrown: unknown) => {
  assert.ok(thrown instanceof AppError && thrown.code === 'place_refused', String(thrown))
  assert.match(thrown.message, why)
  assert.match(thrown.next, remedy)
  return true
}

test('a project without git, or without a commit, is worked in itself, and that is said', async t => {
  const bare = await openWorktreeFixture(t, { project: tempDir(t) })
  const inPlace = { kind: 'in_place', why: 'it is in no git repository' }
  assert.deepEqual(await makeWorktree({ project: bare.project, ...WANTED }, bare.deps), inPlace)
  const empty = tempDir(t)
  plainGit(empty, empty, ['init', '-q'])
  const fresh = await openWorktreeFixture(t, { project: empty })
  const none = { kind: 'in_place', why: 'its repository has no commit yet' }
  assert.deepEqual(await makeWorktree({ project: empty, ...WANTED }, fresh.deps), none)
})

test('a detached HEAD is refused with what to do, and works once a target is named', async t => {
  const world = await openWorktreeFixture(t)
  world.git('checkout', '-q', '--detach')
  await assert.rejects(world.make(), refusedWith(/detached HEAD/, /git switch/))
  assert.equal((await world.make({ target: 'main' })).target, 'main')
})

test('a target that does not exist is refused', async t => {
  const world = await openWorktreeFixture(t)
  await assert.rejects(world.make({ target: 'nowhere' }), refusedWith(/no branch "nowhere"/, /git branch nowhere/))
})

/** What an agent in a folder without a repository can make there, so that the folder becomes part of another project. */
const FOREIGN: [name: string, plant: (project: string, other: string) => void, why: RegExp, remedy: RegExp][] = [
  [
    'a link .git',
    (project, other) => symlinkSync(join(other, '.git'), join(project, '.git')),
    /\.git is a link.*git init --separate-git-dir/,
    /Mend that/,
  ],
  [
    'borrowed objects',
    (project, other) => {
      plainGit(project, project, ['init', '-q', '-b', 'main'])
      write(project, { '.git/objects/info/alternates': `${other}/.git/objects\n` })
      write(project, { '.git/refs/heads/main': plainGit(other, other, ['rev-parse', 'HEAD']) })
    },
    /borrows objects from/,
    /git repack/,
  ],
  [
    'linked packs',
    (project, other) => {
      plainGit(other, other, ['gc', '-q'])
      plainGit(project, project, ['init', '-q', '-b', 'main'])
      rmSync(join(project, '.git/objects/pack'), { recursive: true })
      symlinkSync(join(other, '.git/objects/pack'), join(project, '.git/objects/pack'))
      write(project, { '.git/refs/heads/main': plainGit(other, other, ['rev-parse', 'HEAD']) })
    },
    /objects\/pack is a link/,
    /git repack/,
  ],
  [
    'a linked pack',
    (project, other) => {
      plainGit(other, other, ['gc', '-q'])
      plainGit(project, project, ['init', '-q', '-b', 'main'])
      for (const name of readdirSync(join(other, '.git/objects/pack')))
        symlinkSync(join(other, '.git/objects/pack', name), join(project, '.git/objects/pack', name))
      write(project, { '.git/refs/heads/main': plainGit(other, other, ['rev-parse', 'HEAD']) })
    },
    /objects\/pack\/.* is a link/,
    /git repack/,
  ],
]

for (const [name, plant, why, remedy] of FOREIGN)
  test(`a folder that was made a part of another project's repository gives no worktree: ${name}`, async t => {
    const [project, other] = [realpathSync(tempDir(t)), gitProject(t, { 'private.txt': 'of another project\n' })]
    plant(project, other)
    const world = await openWorktreeFixture(t, { project })
    await assert.rejects(makeWorktree({ project, ...WANTED }, world.deps), refusedWith(why, remedy))
    assert.deepEqual(
      plainGit(other, other, ['branch', '--format=%(refname:short)']).trim(),
      'main',
      'nothing was written there',
    )
  })

test('a repository without a checkout gives worktrees too', async t => {
  const source = gitProject(t)
  const bare = join(tempDir(t), 'bare.git')
  plainGit(source, source, ['clone', '-q', '--bare', source, bare])
  const world = await openWorktreeFixture(t, { project: bare })
  const worktree = await world.make()
  assert.equal(readFileSync(join(worktree.directory, 'README.md'), 'utf8'), '# sample\n')
  assert.deepEqual(await world.remove(worktree), { kind: 'removed' })
})

test('a project that is a folder of its repository has the same folder of the worktree as its place', async t => {
  const top = gitProject(t, { 'packages/one/a.txt': 'a\n', 'other.txt': 'o\n' })
  const world = await openWorktreeFixture(t, { project: join(top, 'packages', 'one') })
  const worktree = await world.make()
  assert.equal(worktree.directory, join(worktree.top, 'packages', 'one'))
  assert.equal(readFileSync(join(worktree.directory, 'a.txt'), 'utf8'), 'a\n')
  assert.equal(world.gitIn(worktree.top, 'status', '--porcelain'), '', 'our own note is not seen')
  const fresh = join(top, 'packages', 'two')
  mkdirSync(fresh)
  const other = await makeWorktree({ project: fresh, task: 't-000002', attempt: 1 }, world.deps)
  assert.ok(!('kind' in other) && existsSync(other.directory), 'a folder that was never committed is there, empty')
})

test('paths with spaces, line breaks and other letters are no matter', async t => {
  const strange = join(tempDir(t), 'ein "Ort"\nmit ü und $HOME')
  renameSync(gitProject(t), strange)
  const root = join(tempDir(t), 'wo rk\ntrees ✓')
  const world = await openWorktreeFixture(t, { project: strange, root })
  const worktree = await world.make()
  write(worktree.top, { 'neu ü\n.txt': 'x\n' })
  const removal = await world.remove(worktree)
  assert.equal(removal.kind, 'archived', JSON.stringify(removal))
  assert.equal(existsSync(worktree.top), false)
  assert.deepEqual(await world.make(), worktree, 'and it comes back')
  assert.equal(readFileSync(join(worktree.top, 'neu ü\n.txt'), 'utf8'), 'x\n')
})

test('a dirty main checkout is left alone, and its changes are said to be missing', async t => {
  const world = await openWorktreeFixture(t)
  write(world.project, { 'README.md': 'changed\n', 'untracked.txt': 'u\n' })
  const worktree = await world.make()
  assert.equal(readFileSync(join(worktree.top, 'README.md'), 'utf8'), '# sample\n')
  assert.equal(readFileSync(join(world.project, 'README.md'), 'utf8'), 'changed\n')
  const [row] = await openWorktrees(world.deps).show('t-000001')
  assert.ok(row && worktree)
  assert.equal((await openWorktrees(world.deps).forecast([row]))?.project_is_dirty, true)
})

test('what would become of a worktree is told beforehand, and nothing is changed by that', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  const forecast = async () => {
    const [row] = await openWorktrees(world.deps).show('t-000001')
    assert.equal(row?.state, 'live')
    const told = await openWorktrees(world.deps).forecast([row])
    return [told?.kind, told?.why]
  }
  assert.deepEqual(await forecast(), ['removed', null])
  write(worktree.top, { 'work.txt': 'x\n' })
  assert.equal((await forecast())[0], 'archived')
  rmSync(worktree.top, { recursive: true })
  assert.deepEqual(await forecast(), ['archived', 'its directory was deleted by hand'])
  rmSync(join(world.project, '.git'), { recursive: true })
  const [kind, why] = await forecast()
  assert.equal(kind, 'kept')
  assert.match(why ?? '', /^its repository .* is gone$/)
})

test('a branch that is there already is kept in the archive before it begins anew', async t => {
  const world = await openWorktreeFixture(t)
  world.git('checkout', '-q', '-b', 'pcc/t-000001')
  write(world.project, { 'theirs.txt': 'x\n' })
  world.git('add', '-A')
  world.git('commit', '-qm', 'theirs')
  const theirs = world.git('rev-parse', 'HEAD').trim()
  await assert.rejects(world.make({ target: 'main' }), refusedWith(/is checked out in/, /Check another branch out/))
  world.git('checkout', '-q', 'main')
  const worktree = await world.make()
  assert.equal(world.git('rev-parse', 'refs/pcc/archive/t-000001/1').trim(), theirs)
  assert.equal(world.git('rev-parse', worktree.branch).trim(), worktree.base)
})

test('a branch "pcc" stands in the way of ours, and that is said', async t => {
  const world = await openWorktreeFixture(t)
  world.git('branch', 'pcc')
  await assert.rejects(world.make(), refusedWith(/pcc/, /git branch -m pcc/))
  assert.equal((await world.deps.store.worktrees.get(WANTED))?.state, 'removed')
  assert.equal(world.git('worktree', 'list').trim().split('\n').length, 1)
})

test('a worktree of the person’s own gives worktrees for the branch that is checked out there', async t => {
  const main = gitProject(t)
  const theirs = join(tempDir(t), 'theirs')
  plainGit(main, main, ['worktree', 'add', '-q', '-b', 'feature', theirs])
  const world = await openWorktreeFixture(t, { project: theirs })
  const worktree = await world.make()
  assert.equal(worktree.target, 'feature')
  assert.deepEqual(await world.remove(worktree), { kind: 'removed' })
})

test('worktrees inside of the project are refused unless git ignores them, and none is made of a worktree of ours', async t => {
  const project = gitProject(t)
  const inner = await openWorktreeFixture(t, { project, root: join(project, '.trees') })
  await assert.rejects(inner.make(), refusedWith(/inside of the project/, /worktrees\.directory/))
  write(project, { '.git/info/exclude': '.trees\n' })
  const worktree = await inner.make()
  const within = makeWorktree({ project: worktree.directory, task: 't-000002', attempt: 1 }, inner.deps)
  await assert.rejects(within, refusedWith(/worktree of a task itself/, /the project that it belongs to/))
})

test('submodules stay empty and say so; one that is filled keeps the worktree from being removed', async t => {
  const library = gitProject(t, { 'lib.txt': 'lib\n' })
  const world = await openWorktreeFixture(t)
  world.git('submodule', '--quiet', 'add', library, 'lib')
  world.git('commit', '-qm', 'with a submodule')
  const worktree = await world.make()
  assert.equal(existsSync(join(worktree.top, 'lib', 'lib.txt')), false)
  assert.match((await world.deps.store.worktrees.get(worktree))?.reason ?? '', /submodules are empty/)
  world.gitIn(worktree.top, 'submodule', '--quiet', 'update', '--init')
  write(worktree.top, { 'lib/lib.txt': 'changed\n' })
  const kept = await world.remove(worktree)
  assert.ok(kept.kind === 'kept' && /repositories of their own.*lib/.test(kept.why), JSON.stringify(kept))
  assert.equal(readFileSync(join(worktree.top, 'lib', 'lib.txt'), 'utf8'), 'changed\n')
  world.gitIn(worktree.top, 'submodule', '--quiet', 'deinit', '-f', 'lib')
  assert.deepEqual(await world.remove(worktree), { kind: 'removed' })
})

test('files of git-lfs stay pointers, and are committed and archived as they are', async t => {
  const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n'
  const attributes = '*.bin filter=lfs diff=lfs merge=lfs -text\n'
  const world = await openWorktreeFixture(t, {
    files: { '.gitattributes': attributes, 'big.bin': pointer, 'a.txt': 'a\n' },
  })
  const trace = join(tempDir(t), 'trace')
  for (const kind of ['smudge', 'clean', 'process']) world.git('config', `filter.lfs.${kind}`, `touch '${trace}'; cat`)
  world.git('config', 'filter.lfs.required', 'true')
  const worktree = await world.make()
  assert.equal(readFileSync(join(worktree.top, 'big.bin'), 'utf8'), pointer)
  write(worktree.top, { 'a.txt': 'changed\n' })
  const removal = await world.remove(worktree)
  assert.ok(removal.kind === 'archived')
  assert.equal(world.git('diff-tree', '-r', '--name-only', 'main', removal.ref), 'a.txt\n')
  assert.equal(existsSync(trace), false, 'nobody asked git-lfs')
})

test('a sparse checkout gives a worktree that is as sparse, and nothing of it is taken for deleted', async t => {
  const world = await openWorktreeFixture(t, { files: { 'in/a.txt': 'a\n', 'out/b.txt': 'b\n', 'top.txt': 't\n' } })
  world.git('sparse-checkout', 'set', 'in')
  const worktree = await world.make()
  assert.deepEqual(
    [existsSync(join(worktree.top, 'in/a.txt')), existsSync(join(worktree.top, 'out/b.txt'))],
    [true, false],
  )
  write(worktree.top, { 'in/a.txt': 'changed\n', 'out/new.txt': 'new\n' })
  const removal = await world.remove(worktree)
  assert.ok(removal.kind === 'archived')
  assert.equal(world.git('diff-tree', '-r', '--name-status', 'main', removal.ref), 'M\tin/a.txt\nA\tout/new.txt\n')
})

test('a directory in which nothing can be written is refused with what to do, and leaves nothing behind', async t => {
  const root = join(tempDir(t), 'file')
  write(join(root, '..'), { file: 'no directory\n' })
  const world = await openWorktreeFixture(t, { root: join(root, 'worktrees') })
  await assert.rejects(world.make(), refusedWith(/ENOTDIR/, /worktrees\.directory/))
  assert.equal(world.git('branch', '--list', 'pcc/*'), '')
})

test('git that runs out of room half way leaves nothing behind', async t => {
  const world = await openWorktreeFixture(t, { files: { 'a.txt': 'a\n', 'z.txt': 'z'.repeat(200_000) } })
  await withSmallFiles(t, async () => {
    await assert.rejects(world.make(), refusedWith(/./, /./))
  })
  assert.equal(world.git('branch', '--list', 'pcc/*'), '')
  assert.equal(world.git('worktree', 'list').trim().split('\n').length, 1)
  const row = await world.deps.store.worktrees.get(WANTED)
  assert.equal(row?.state, 'removed')
  assert.equal(existsSync(row?.top ?? ''), false)
  assert.equal((await world.make()).branch, 'pcc/t-000001', 'with room again it works')
})

test('what lies where the worktree is to be made is put aside, never deleted', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  await world.remove(worktree)
  write(worktree.top, { 'somebody.txt': 'mine\n' })
  await world.make({ attempt: 2 })
  const aside = `${worktree.top}.aside-${world.deps.clock.now()}`
  assert.equal(readFileSync(join(aside, 'somebody.txt'), 'utf8'), 'mine\n')
})

test('a project that is reached over a link has its folder in the worktree all the same', async t => {
  const top = gitProject(t, { 'sub/a.txt': 'a\n' })
  const link = join(tempDir(t), 'link')
  symlinkSync(join(top, 'sub'), link)
  const world = await openWorktreeFixture(t, { project: link })
  const worktree = await world.make()
  assert.equal(worktree.directory, join(worktree.top, 'sub'))
  assert.equal(realpathSync(link), realpathSync(join(top, 'sub')))
})

/** A git that cannot write files of more than 50 kB: it fails as with a full disk, on any machine. */
async function withSmallFiles(t: TestContext, run: () => Promise<void>): Promise<void> {
  const bin = tempDir(t)
  write(bin, { git: '#!/bin/sh\nulimit -f 100\nPATH=${PATH#*:}\nexport PATH\nexec git "$@"\n' })
  chmodSync(join(bin, 'git'), 0o755)
  const before = process.env['PATH']
  process.env['PATH'] = `${bin}:${before}`
  try {
    await run()
  } finally {
    process.env['PATH'] = before
  }
}
