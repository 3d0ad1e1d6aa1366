import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { commitLeftovers } from '../../../src/workspace/verify/commit-leftovers.ts'
import { openBaseCheckout } from '../../../src/workspace/verify/regression.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { noteDependencies } from '../../../src/workspace/worktrees/dependencies.ts'
import { mendDependencies } from '../../../src/workspace/worktrees/mend-dependencies.ts'
import { tempDir } from '../../support/world.ts'
import { openVerifyFixture } from './worktree-fixture.ts'

/** A folder elsewhere with what an agent would like to have deleted or overwritten. */
function elsewhere(t: TestContext, ...files: string[]): string {
  const folder = tempDir(t)
  for (const file of files) {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    writeFileSync(join(folder, file), 'precious\n')
  }
  return folder
}

test('caches in a node_modules that is a link, or behind one, are not the worktree’s: they stay', async t => {
  const files = ['.cache/x', '.vite/x', 'node_modules/.cache/x', '__pycache__/x']
  const victim = elsewhere(t, ...files)
  const work = await openVerifyFixture(t, { 'a.txt': 'a\n', '.gitignore': 'node_modules\n__pycache__\npackages\n' })
  symlinkSync(victim, join(work.worktree.top, 'node_modules'))
  mkdirSync(join(work.worktree.top, 'sub'))
  symlinkSync(join(victim, '__pycache__'), join(work.worktree.top, 'sub', '__pycache__'))
  symlinkSync(victim, join(work.worktree.top, 'packages'))
  work.write('b.txt', 'b\n')
  await verify(work.request({}, { commands: { test: 'true' } }), work.deps())
  for (const file of files) assert.ok(existsSync(join(victim, file)), file)
})

test('dependencies behind a link that the agent put there are not mended but reported', async t => {
  const work = await openVerifyFixture(t, { 'a.txt': 'a\n', '.gitignore': 'node_modules\n' })
  const { top } = work.worktree
  const project = tempDir(t)
  for (const root of [top, project]) {
    mkdirSync(join(root, 'packages/a/node_modules/pkg'), { recursive: true })
    writeFileSync(join(root, 'packages/a/node_modules/pkg/index.js'), 'good\n')
  }
  await noteDependencies(top, { copied: ['packages/a/node_modules'], hasSetUp: false })
  const victim = elsewhere(t, 'node_modules/pkg/index.js', 'node_modules/own.js')
  rmSync(join(top, 'packages/a'), { recursive: true })
  symlinkSync(victim, join(top, 'packages/a'))
  const { sessions } = work.store
  const source = { project, sessions, setup: undefined, setupMs: 1000, env: {}, signal: AbortSignal.timeout(10_000) }
  const reports = await mendDependencies(work.worktree, { ...source, changesManifest: async () => false })
  assert.deepEqual(
    reports.map(({ kind }) => kind),
    ['failed'],
  )
  assert.equal(readFileSync(join(victim, 'node_modules/pkg/index.js'), 'utf8'), 'precious\n')
  assert.deepEqual(readdirSync(join(victim, 'node_modules')).sort(), ['own.js', 'pkg'])
})

test('a dependency folder that became a link is replaced by the project’s, and what it led to stays', async t => {
  const work = await openVerifyFixture(t, { 'a.txt': 'a\n', '.gitignore': 'node_modules\n' })
  const { top } = work.worktree
  const project = tempDir(t)
  for (const root of [top, project]) {
    mkdirSync(join(root, 'node_modules/pkg'), { recursive: true })
    writeFileSync(join(root, 'node_modules/pkg/index.js'), 'good\n')
  }
  await noteDependencies(top, { copied: ['node_modules'], hasSetUp: false })
  const victim = elsewhere(t, 'pkg/index.js')
  rmSync(join(top, 'node_modules'), { recursive: true })
  symlinkSync(victim, join(top, 'node_modules'))
  const { sessions } = work.store
  const source = { project, sessions, setup: undefined, setupMs: 1000, env: {}, signal: AbortSignal.timeout(10_000) }
  const reports = await mendDependencies(work.worktree, { ...source, changesManifest: async () => false })
  assert.deepEqual(
    reports.map(({ kind }) => kind),
    ['mended'],
  )
  assert.equal(readFileSync(join(top, 'node_modules/pkg/index.js'), 'utf8'), 'good\n')
  assert.equal(readFileSync(join(victim, 'pkg/index.js'), 'utf8'), 'precious\n')
})

test('a gate command that puts a link in the place of .git has nothing written through it', async t => {
  const victim = join(elsewhere(t, 'key'), 'key')
  const work = await openVerifyFixture(t)
  work.write('b.txt', 'b\n')
  await verify(work.request({}, { commands: { test: `ln -sf '${victim}' .git` } }), work.deps())
  assert.equal(readFileSync(victim, 'utf8'), 'precious\n')
  assert.match(readFileSync(join(work.worktree.top, '.git'), 'utf8'), /^gitdir: /)
})

test('sparse-checkout patterns are not written through a link', async t => {
  const work = await openVerifyFixture(t)
  const victim = join(elsewhere(t, 'sparse-checkout'), 'sparse-checkout')
  const own = work.git('rev-parse', '--absolute-git-dir')
  mkdirSync(join(own, 'info'), { recursive: true })
  symlinkSync(victim, join(own, 'info/sparse-checkout'))
  work.write('b.txt', 'b\n')
  const left = await commitLeftovers(work.worktree)
  assert.ok(!left.ok)
  assert.match(left.finding.text, /info\/sparse-checkout is a link/)
  assert.equal(readFileSync(victim, 'utf8'), 'precious\n')
})

test('a worktree whose .git names another repository is refused: nothing is committed there', async t => {
  const work = await openVerifyFixture(t)
  const other = await openVerifyFixture(t)
  const repository = other.git('rev-parse', '--path-format=absolute', '--git-common-dir')
  const before = other.git('for-each-ref')
  writeFileSync(join(work.worktree.top, '.git'), `gitdir: ${repository}\n`)
  work.write('b.txt', 'b\n')
  const left = await commitLeftovers(work.worktree)
  assert.ok(!left.ok)
  assert.equal(other.git('for-each-ref'), before)
  assert.equal(readFileSync(join(repository, 'HEAD'), 'utf8'), 'ref: refs/heads/main\n')
})

test('dependencies of a base are not linked through a link that its commit holds', async t => {
  const victim = elsewhere(t, 'inner/key')
  const work = await openVerifyFixture(t, { 'a.txt': 'a\n', '.gitignore': 'node_modules\n' })
  const { top } = work.worktree
  symlinkSync(victim, join(top, 'packages'))
  work.git('add', '-A')
  work.git('commit', '-qm', 'a link')
  const base = work.git('rev-parse', 'HEAD')
  renameSync(join(top, 'packages'), join(top, 'old'))
  mkdirSync(join(top, 'packages/inner/node_modules'), { recursive: true })
  writeFileSync(join(top, 'packages/inner/node_modules/x.js'), '')
  writeFileSync(join(top, 'packages/inner/y.js'), '')
  work.git('add', 'packages')
  const run = tempDir(t)
  await using checkout = await openBaseCheckout({ top, directory: top, base }, run, AbortSignal.timeout(20_000))
  assert.ok(checkout)
  assert.deepEqual(readdirSync(join(victim, 'inner')), ['key'])
})
