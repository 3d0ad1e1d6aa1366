import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  truncateSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import { pruneSnapshots, snapshotCopy } from '../../../src/workspace/worktrees/snapshot.ts'
import { gitProject, tempDir } from '../../support/world.ts'
import { openWorktreeFixture, plainGit, write } from './worktree-fixture.ts'

test('the worktree says whose it is in one file, which alone is kept out of the project’s history', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  const note = JSON.parse(readFileSync(join(worktree.directory, '.perpetualcc', 'task.json'), 'utf8'))
  assert.deepEqual(note, {
    ...{ task: 't-000001', attempt: 1, branch: 'pcc/t-000001', target: 'main', base: worktree.base },
    project: world.project,
  })
  write(worktree.top, { '.perpetualcc/knowledge/note.md': 'n\n', '.perpetualcc/specs/a.md': 's\n' })
  const seen = world.gitIn(worktree.top, 'status', '--porcelain', '-uall')
  assert.equal(seen, '?? .perpetualcc/knowledge/note.md\n?? .perpetualcc/specs/a.md\n')
  write(world.project, { '.perpetualcc/spec.md': 's\n' })
  assert.equal(world.git('status', '--porcelain', '-uall'), '?? .perpetualcc/spec.md\n')
  await world.make({ task: 't-000002' })
  const lines = readFileSync(join(world.project, '.git/info/exclude'), 'utf8').split('\n')
  assert.equal(lines.filter(line => line.includes('perpetualcc')).length, 1)
})

test('what the person has written into info/exclude stays', async t => {
  const world = await openWorktreeFixture(t)
  write(world.project, { '.git/info/exclude': 'mine' })
  await world.make()
  const lines = readFileSync(join(world.project, '.git/info/exclude'), 'utf8').split('\n')
  assert.equal(lines[0], 'mine')
  assert.ok(lines.includes('**/.perpetualcc/task.json'))
})

test('a repository that makes .perpetualcc a link, or has a task.json itself, does not have us write over anything', async t => {
  const outside = tempDir(t)
  const linked = gitProject(t)
  symlinkSync(outside, join(linked, '.perpetualcc'))
  plainGit(linked, linked, ['add', '-A'])
  plainGit(linked, linked, ['commit', '-qm', 'link'])
  const first = await openWorktreeFixture(t, { project: linked })
  const worktree = await first.make()
  assert.equal(existsSync(join(outside, 'task.json')), false)
  assert.match((await first.deps.store.worktrees.get(worktree))?.setup ?? '', /is no directory/)
  const second = await openWorktreeFixture(t, { files: { '.perpetualcc/task.json': '{"theirs":true}\n' } })
  const theirs = await second.make()
  assert.equal(readFileSync(join(theirs.top, '.perpetualcc/task.json'), 'utf8'), '{"theirs":true}\n')
})

test('dependency directories are copies: what an agent writes there does not reach the person’s', async t => {
  const world = await openWorktreeFixture(t, { files: { '.gitignore': 'node_modules\n', 'packages/p/p.js': 'p\n' } })
  write(world.project, { 'node_modules/x/index.js': 'x\n', 'node_modules/.bin/run': '#!/bin/sh\n' })
  chmodSync(join(world.project, 'node_modules/.bin/run'), 0o755)
  mkdirSync(join(world.project, 'node_modules/@org'))
  symlinkSync('../../packages/p', join(world.project, 'node_modules/@org/p'))
  const worktree = await world.make()
  const copy = join(worktree.top, 'node_modules')
  assert.equal(lstatSync(copy).isSymbolicLink(), false)
  assert.equal(readlinkSync(join(copy, '@org/p')), '../../packages/p')
  assert.equal(lstatSync(join(copy, '.bin/run')).mode & 0o111, 0o111)
  write(worktree.top, { 'node_modules/x/index.js': 'changed\n', 'packages/p/p.js': 'changed\n' })
  assert.equal(readFileSync(join(world.project, 'node_modules/x/index.js'), 'utf8'), 'x\n')
  assert.equal(
    readFileSync(join(copy, '@org/p/p.js'), 'utf8'),
    'changed\n',
    'a package of the project is the worktree’s',
  )
  assert.match(
    (await world.deps.store.worktrees.get(worktree))?.setup ?? '',
    /^node_modules copied( on write)? \(2 files\)$/,
  )
})

test('a dependency directory of many bytes is left to the set-up command, unless the file system can share them', async t => {
  const world = await openWorktreeFixture(t, { files: { '.gitignore': 'node_modules\n' } })
  write(world.project, { 'node_modules/big.bin': '' })
  truncateSync(join(world.project, 'node_modules/big.bin'), 310_000_000)
  const worktree = await world.make()
  assert.match(
    (await world.deps.store.worktrees.get(worktree))?.setup ?? '',
    /^node_modules (is too large to be copied: let worktrees\.setup make it|copied on write \(1 files\))$/,
  )
})

test('a virtual environment is not copied, and a vendor directory that is committed stays as it is', async t => {
  const world = await openWorktreeFixture(t, { files: { '.gitignore': '.venv\n', 'vendor/lib.go': 'l\n' } })
  write(world.project, { '.venv/bin/python': 'p\n', 'vendor/extra.go': 'e\n' })
  const worktree = await world.make()
  assert.equal(existsSync(join(worktree.top, '.venv')), false)
  assert.equal(existsSync(join(worktree.top, 'vendor/extra.go')), false)
})

test('a project without git is copied before it is worked in, once for each attempt, and old copies go', async t => {
  const [project, root] = [tempDir(t), tempDir(t)]
  write(project, { 'a.txt': 'a\n', 'deep/b.txt': 'b\n', 'node_modules/x.js': 'x\n' })
  const first = await snapshotCopy({ project, task: 't-000001', attempt: 1, own: [] }, { root, log: silentLog })
  assert.ok(first.kind === 'copied' && first.files === 2, JSON.stringify(first))
  assert.equal(readFileSync(join(first.path, 'deep/b.txt'), 'utf8'), 'b\n')
  assert.equal(existsSync(join(first.path, 'node_modules')), false)
  write(project, { 'a.txt': 'changed\n' })
  assert.deepEqual(
    await snapshotCopy({ project, task: 't-000001', attempt: 1, own: [] }, { root, log: silentLog }),
    first,
  )
  assert.equal(readFileSync(join(first.path, 'a.txt'), 'utf8'), 'a\n', 'the attempt goes on: how it began counts')
  assert.equal(await pruneSnapshots(root, Date.now() - 60_000), 0)
  assert.equal(await pruneSnapshots(root, Date.now() + 60_000), 1)
  assert.equal(existsSync(first.path), false)
})

test('a project that is too large is not copied, and that is said', async t => {
  const project = tempDir(t)
  write(project, { 'big.bin': '' })
  truncateSync(join(project, 'big.bin'), 1_100_000_000)
  const none = await snapshotCopy(
    { project, task: 't-000001', attempt: 1, own: [] },
    { root: tempDir(t), log: silentLog },
  )
  assert.ok(none.kind === 'not_copied' && /1000 MB/.test(none.why), JSON.stringify(none))
})

test('a copy of a project that holds the folders of pcc, also behind a link, leaves them out and so ends', async t => {
  const [project, elsewhere] = [tempDir(t), tempDir(t)]
  write(project, { 'a.txt': 'a\n', '.pcc/data/db': 'd\n' })
  const root = join(project, 'home/worktrees')
  symlinkSync(join(project, '.pcc'), join(elsewhere, 'link'))
  const request = { project, task: 't-000001', attempt: 1, own: [join(elsewhere, 'link')] }
  const copy = await snapshotCopy(request, { root, log: silentLog })
  assert.ok(copy.kind === 'copied' && copy.files === 1, JSON.stringify(copy))
  assert.deepEqual(readdirSync(copy.path, { recursive: true }).sort(), ['a.txt', 'home'])
})

test('copying a project says how much it copies, and ends with its signal, leaving nothing', async t => {
  const [project, root] = [tempDir(t), tempDir(t)]
  write(project, { 'a.txt': 'a\n', 'b.txt': 'b\n' })
  const ending = new AbortController()
  const sizes: object[] = []
  const onBegin = async (size: object) => {
    sizes.push(size)
    ending.abort()
  }
  const request = { project, task: 't-000001', attempt: 1, own: [], signal: ending.signal, onBegin }
  await assert.rejects(snapshotCopy(request, { root, log: silentLog }), { name: 'AbortError' })
  assert.deepEqual(sizes, [{ files: 2, bytes: 4 }])
  assert.deepEqual(
    readdirSync(root, { recursive: true }).filter(name => String(name).includes('t-000001')),
    [],
  )
})
