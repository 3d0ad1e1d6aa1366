import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { makeWorktree, reserveWorktree } from '../../../src/workspace/worktrees/make-worktree.ts'
import { projectFolderName } from '../../../src/workspace/worktrees/worktree.ts'
import { recoverWorktrees } from '../../../src/workspace/worktrees/worktrees.ts'
import { gitProject } from '../../support/world.ts'
import { openWorktreeFixture, type WorktreeFixture, write } from './worktree-fixture.ts'

// A worktree that is made ahead of its task, empty, and filled when the task begins.

const WANTED = { task: 't-000001', attempt: 1 }
const reserve = ({ project, deps }: WorktreeFixture) => reserveWorktree({ project, ...WANTED }, deps)
const states = async ({ deps }: WorktreeFixture) => (await deps.store.worktrees.list()).map(({ state }) => state)
/** What git lists besides the project, and the branches of tasks. */
const traces = ({ git }: WorktreeFixture) =>
  [git('worktree', 'list').trim().split('\n').slice(1), git('branch', '--list', 'pcc/*').trim()].flat()

test('a reserved worktree is empty, and is filled from the tip that its target has when the task begins', async t => {
  const fixture = await openWorktreeFixture(t, { files: { 'sub/a.txt': 'old\n' } })
  const { deps, git, gitIn } = fixture
  const project = join(fixture.project, 'sub')
  const reserved = await reserveWorktree({ project, ...WANTED }, deps)
  assert.ok(reserved)
  assert.deepEqual([readdirSync(reserved.top).toSorted(), readdirSync(reserved.directory)], [['.git', 'sub'], []])
  assert.equal(git('branch', '--list', 'pcc/*'), '')
  write(project, { 'a.txt': 'new\n' })
  git('commit', '-qam', 'meanwhile')
  const made = await makeWorktree({ project, ...WANTED }, deps, reserved)
  assert.ok('top' in made)
  const fresh = await makeWorktree({ project, task: 't-000002', attempt: 1 }, deps)
  assert.ok('top' in fresh)
  const look = ({ top, base, target, branch }: typeof made) => ({
    ...{ base, target, isOnBranch: gitIn(top, 'branch', '--show-current').trim() === branch },
    ...{ status: gitIn(top, 'status', '--porcelain'), files: readdirSync(join(top, 'sub')) },
  })
  const base = git('rev-parse', 'main').trim()
  assert.deepEqual(look(made), { ...look(fresh), base, isOnBranch: true, status: '' })
  assert.deepEqual(await states(fixture), ['live', 'live'])
})

test('nothing is reserved where something is in the way: the attempt itself decides what becomes of it', async t => {
  const ways: Record<string, (fixture: WorktreeFixture) => unknown> = {
    'a folder at its path': ({ project, deps }) =>
      write(join(deps.root, projectFolderName(project), 't-000001'), { x: 'x' }),
    'a branch of its name': ({ git }) => git('branch', 'pcc/t-000001'),
    'a worktree of an earlier attempt': ({ make }) => make(),
    'no branch that is checked out': ({ git }) => git('checkout', '-q', '--detach'),
  }
  for (const [name, prepare] of Object.entries(ways)) {
    const fixture = await openWorktreeFixture(t)
    await prepare(fixture)
    const before = traces(fixture)
    assert.equal(await reserve(fixture), undefined, name)
    assert.deepEqual(traces(fixture), before, name)
  }
  const off = await openWorktreeFixture(t, { settings: { mode: 'off' } })
  assert.equal(await reserve(off), undefined)
})

test('a reserved worktree that is no longer right is removed, and the attempt gets what it would have got', async t => {
  const changes: Record<string, (fixture: WorktreeFixture, top: string) => unknown> = {
    'its branch was made': ({ git }) => git('branch', 'pcc/t-000001'),
    'somebody removed it': ({ git }, top) => git('worktree', 'remove', '--force', top),
    'somebody wrote into it': (_, top) => write(top, { x: 'x' }),
    'worktrees go elsewhere': ({ deps }) => Object.assign(deps, { root: join(deps.root, 'elsewhere') }),
  }
  for (const [name, change] of Object.entries(changes)) {
    const fixture = await openWorktreeFixture(t)
    const reserved = await reserve(fixture)
    assert.ok(reserved, name)
    await change(fixture, reserved.top)
    const made = await makeWorktree({ project: fixture.project, ...WANTED }, fixture.deps, reserved)
    assert.ok('top' in made && existsSync(join(made.top, 'README.md')), name)
    assert.deepEqual([fixture.gitIn(made.top, 'status', '--porcelain'), traces(fixture).length], ['', 2], name)
    assert.equal(existsSync(reserved.top), made.top === reserved.top, name)
    const aside = readdirSync(dirname(reserved.top)).filter(entry => entry.includes('.aside-'))
    const kept = aside.flatMap(entry => readdirSync(join(dirname(reserved.top), entry)).toSorted())
    assert.deepEqual(kept, name === 'somebody wrote into it' ? ['.git', 'x'] : [], name)
    assert.deepEqual(await states(fixture), ['live'], name)
  }
  const fixture = await openWorktreeFixture(t)
  const reserved = await reserve(fixture)
  const off = { ...fixture.deps, settings: { ...fixture.deps.settings, mode: 'off' as const } }
  assert.ok('why' in (await makeWorktree({ project: fixture.project, ...WANTED }, off, reserved)))
  assert.deepEqual([existsSync(reserved?.top ?? ''), traces(fixture)], [false, ['']])
})

test('a daemon that died with a reserved worktree, filled or not, leaves nothing of it to the next one', async t => {
  for (const isFilled of [false, true]) {
    const fixture = await openWorktreeFixture(t)
    const reserved = await reserve(fixture)
    assert.ok(reserved)
    if (isFilled) fixture.gitIn(reserved.top, 'checkout', '-qfB', 'pcc/t-000001', 'main')
    await recoverWorktrees(fixture.deps)
    assert.deepEqual([existsSync(reserved.top), traces(fixture), await states(fixture)], [false, [''], ['removed']])
    assert.equal((await fixture.make()).branch, 'pcc/t-000001')
  }
})

test('a reserved worktree of a project with a sparse checkout gets the files that a new one gets', async t => {
  const project = gitProject(t, { 'in/a.txt': 'a\n', 'out/b.txt': 'b\n' })
  const fixture = await openWorktreeFixture(t, { project })
  fixture.git('sparse-checkout', 'set', 'in')
  const reserved = await reserve(fixture)
  const made = await makeWorktree({ project, ...WANTED }, fixture.deps, reserved)
  assert.ok('top' in made)
  const fresh = await fixture.make({ task: 't-000002' })
  assert.equal(fixture.gitIn(made.top, 'status', '--porcelain'), '')
  assert.deepEqual(readdirSync(made.top).toSorted(), readdirSync(fresh.top).toSorted())
})
