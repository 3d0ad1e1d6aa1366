import assert from 'node:assert/strict'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openGuard } from '../../../src/base/process/guardian.ts'
import type { VerificationResult } from '../../../src/domain/evidence.ts'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { readCommandCaps } from '../../../src/workspace/command/command-caps.ts'
import { git } from '../../../src/workspace/git/git.ts'
import { commitLeftovers } from '../../../src/workspace/verify/commit-leftovers.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { noteBases } from '../../../src/workspace/worktrees/worktree-note.ts'
import { openWorktreeFixture, type WorktreeFixture, write } from '../worktrees/worktree-fixture.ts'

const guard = openGuard()
const FAILING = "import { test } from 'node:test'\ntest('no', () => { throw new Error('no') })\n"
const HONEST =
  "import assert from 'node:assert/strict'\nimport { test } from 'node:test'\ntest('two', () => { assert.equal(1 + 1, 2) })\n"

interface At {
  world: WorktreeFixture
  worktree: Worktree
  /** git as the agent would call it, in its worktree. */
  git(...args: string[]): string
  /** The folder that all checkouts share. */
  shared: string
  /** The base of the verification; by default where the work left its target. */
  base?: string
}

interface Row {
  what: string
  /** What an agent does to the repository beside its work, which is a file `work.txt`. */
  tamper(at: At): void | Promise<void>
  /** `blocked`: a finding of that code blocks. `undone`, `harmless`: test command and commit see the real files. */
  outcome: { blocked: string } | 'undone' | 'harmless'
  files?: Record<string, string>
  command?: string
  also?(result: VerificationResult, at: At): void | Promise<void>
}

const ROWS: Row[] = [
  {
    what: 'info/exclude hides a file that the gates see',
    tamper: ({ worktree, shared }) => {
      appendFileSync(join(shared, 'info/exclude'), 'conftest.py\n')
      write(worktree.top, { 'conftest.py': 'x\n' })
    },
    outcome: { blocked: 'diff.ignored' },
  },
  {
    what: 'info/exclude hides a folder of no known language',
    tamper: ({ worktree, shared }) => {
      appendFileSync(join(shared, 'info/exclude'), 'fixtures/\n')
      write(worktree.top, { 'fixtures/answers.dat': 'x\n' })
    },
    outcome: { blocked: 'diff.ignored' },
  },
  {
    what: 'info/exclude hides nothing that is there',
    tamper: ({ shared }) => appendFileSync(join(shared, 'info/exclude'), '.idea\n'),
    outcome: 'harmless',
  },
  {
    what: 'info/attributes says that tests are no text',
    tamper: ({ shared }) => writeFileSync(join(shared, 'info/attributes'), '*.test.js -diff\n'),
    outcome: { blocked: 'git.shared' },
  },
  {
    what: 'info/attributes merges what conflicts by taking both sides',
    tamper: ({ shared }) => writeFileSync(join(shared, 'info/attributes'), '* merge=union\n'),
    outcome: { blocked: 'git.shared' },
  },
  {
    what: 'objects lie in another repository, which can go away',
    tamper: ({ shared }) =>
      writeFileSync(join(shared, 'objects/info/alternates'), `${join(shared, 'elsewhere/objects')}\n`),
    outcome: { blocked: 'git.shared' },
  },
  {
    what: 'git in the main checkout is told that its settings lie elsewhere',
    tamper: ({ shared }) => writeFileSync(join(shared, 'commondir'), '.\n'),
    outcome: { blocked: 'git.shared' },
  },
  {
    what: 'history is cut off at the work',
    tamper: ({ git, shared }) => writeFileSync(join(shared, 'shallow'), `${git('rev-parse', 'HEAD').trim()}\n`),
    outcome: { blocked: 'git.shared' },
  },
  {
    what: 'the target is moved onto the work, so that nothing seems changed',
    tamper: ({ git, worktree }) => {
      git('add', '-A')
      git('commit', '-qm', 'mine')
      git('update-ref', `refs/heads/${worktree.target}`, 'HEAD')
    },
    outcome: { blocked: 'git.target' },
  },
  {
    what: 'a sparse checkout leaves the failing test out',
    files: { 'test/a.test.js': FAILING },
    tamper: ({ git }) => void git('sparse-checkout', 'set', '--no-cone', '/*', '!/test/'),
    command: 'test -e test/a.test.js',
    outcome: 'undone',
  },
  {
    what: 'a file is marked as unchanged',
    files: { 'check.sh': 'exit 1\n' },
    tamper: ({ git, worktree }) => {
      git('update-index', '--assume-unchanged', 'check.sh')
      write(worktree.top, { 'check.sh': 'exit 0\n' })
    },
    command: 'sh check.sh',
    outcome: 'undone',
    also: ({ commit }, { git }) => assert.equal(git('show', `${commit}:check.sh`), 'exit 0\n'),
  },
  {
    what: 'a file is marked as not checked out',
    files: { 'check.sh': 'exit 1\n' },
    tamper: ({ git, worktree }) => {
      git('update-index', '--skip-worktree', 'check.sh')
      write(worktree.top, { 'check.sh': 'exit 0\n' })
    },
    command: 'sh check.sh',
    outcome: 'undone',
    also: ({ commit }, { git }) => assert.equal(git('show', `${commit}:check.sh`), 'exit 0\n'),
  },
  {
    what: 'another object stands for the test as it was',
    files: { 'test/a.test.js': HONEST },
    tamper: ({ git, worktree }) => {
      const before = git('rev-parse', 'HEAD:test/a.test.js').trim()
      write(worktree.top, { 'test/a.test.js': "import { test } from 'node:test'\ntest('two', () => { })\n" })
      git('commit', '-qam', 'weaker')
      git('replace', '-f', before, git('rev-parse', 'HEAD:test/a.test.js').trim())
    },
    outcome: { blocked: 'test.emptied' },
  },
  {
    what: 'a graft gives the work another parent',
    files: { 'test/a.test.js': HONEST },
    tamper: ({ git, worktree, shared }) => {
      write(worktree.top, { 'test/a.test.js': "import { test } from 'node:test'\ntest('two', () => { })\n" })
      git('commit', '-qam', 'weaker')
      writeFileSync(join(shared, 'info/grafts'), `${git('rev-parse', 'HEAD').trim()}\n`)
    },
    outcome: { blocked: 'test.emptied' },
  },
  {
    what: 'a note of ours is put where it used to lie',
    tamper: ({ worktree, shared }) => {
      const made = { looking: null, files: [{ path: 'work.txt', size: 5, changed: 0 }] }
      const own = join(shared, 'worktrees', worktree.task)
      mkdirSync(own, { recursive: true })
      writeFileSync(join(own, 'pcc-gates.json'), JSON.stringify(made))
    },
    outcome: 'harmless',
    also: ({ commit }, { git }) => assert.equal(git('show', `${commit}:work.txt`), 'work\n'),
  },
  {
    what: 'the worktree is led to another repository',
    tamper: ({ world, worktree, shared }) => {
      const other = join(world.deps.root, 'other.git')
      world.gitIn(world.project, 'clone', '-q', '--bare', shared, other)
      writeFileSync(join(shared, 'worktrees', worktree.task, 'commondir'), `${other}\n`)
    },
    outcome: { blocked: 'git.shared' },
  },
  {
    what: 'settings of the repository name a filter, hooks and an ignore list',
    tamper: ({ git, worktree, shared }) => {
      git('config', 'core.excludesFile', join(shared, 'mine'))
      writeFileSync(join(shared, 'mine'), 'work.txt\n')
      git('config', 'core.hooksPath', worktree.top)
      write(worktree.top, { 'pre-commit': '#!/bin/sh\ntouch ran\n' })
    },
    outcome: 'harmless',
    also: ({ commit }, { git, worktree }) => {
      assert.equal(git('show', `${commit}:work.txt`), 'work\n')
      assert.equal(existsSync(join(worktree.top, 'ran')), false)
    },
  },
]

for (const { what, tamper, outcome, files, command = 'true', also } of ROWS) {
  test(`in the shared .git: ${what}`, async t => {
    const world = await openWorktreeFixture(t, files ? { files } : {})
    const worktree = await world.make()
    write(worktree.top, { 'work.txt': 'work\n' })
    const at: At = {
      ...{ world, worktree, shared: join(world.project, '.git') },
      git: (...args) => world.gitIn(worktree.top, ...args),
    }
    await tamper(at)
    const result = await look(at, command)
    const codes = result.findings.filter(({ weight }) => weight === 'block').map(({ code }) => code)
    if (typeof outcome === 'object') assert.ok(codes.includes(outcome.blocked), JSON.stringify(result.findings))
    else assert.deepEqual([result.status, codes], ['passed', []], JSON.stringify(result.findings))
    await also?.(result, at)
  })
}

test('a person may let their own change of the repository pass by its name', async t => {
  const world = await openWorktreeFixture(t)
  const worktree = await world.make()
  write(worktree.top, { 'work.txt': 'work\n' })
  writeFileSync(join(world.project, '.git/info/attributes'), '*.png -diff\n')
  const at: At = { world, worktree, shared: '', git: () => '' }
  assert.equal((await look(at, 'true')).status, 'broken')
  assert.equal((await look(at, 'true', ['git.shared'])).status, 'passed')
})

test('a target that pcc itself has put the work onto is known, and one that was taken back hides nothing', async t => {
  const world = await openWorktreeFixture(t)
  write(world.project, { 'other.txt': 'o\n' })
  world.git('add', '-A')
  world.git('commit', '-qm', 'second')
  const worktree = await world.make()
  write(worktree.top, { 'work.txt': 'work\n' })
  await commitLeftovers(worktree)
  const at: At = { world, worktree, shared: '', git: () => '' }
  const older = world.git('rev-parse', 'main~1').trim()
  assert.equal((await look({ ...at, base: older }, 'true')).status, 'passed')
  write(world.project, { 'third.txt': 't\n' })
  world.git('add', '-A')
  world.git('commit', '-qm', 'third')
  world.gitIn(worktree.top, 'rebase', '-q', 'main')
  const base = world.git('rev-parse', 'main').trim()
  assert.equal((await look({ ...at, base }, 'true')).status, 'broken')
  await noteBases(worktree.top, [base])
  assert.equal((await look({ ...at, base }, 'true')).status, 'passed')
})

test('a checkout that was sparse when it was made stays so', async t => {
  const files = { 'a/a.txt': 'a\n', 'b/b.txt': 'b\n' }
  const world = await openWorktreeFixture(t, { files })
  world.git('sparse-checkout', 'set', 'a')
  const worktree = await world.make()
  write(worktree.top, { 'a/more.txt': 'm\n' })
  const at: At = { world, worktree, shared: '', git: () => '' }
  assert.equal((await look(at, 'test ! -e b/b.txt')).status, 'passed')
  world.gitIn(worktree.top, 'sparse-checkout', 'set', 'b')
  const result = await look(at, 'test ! -e b/b.txt && cat a/a.txt')
  assert.equal(result.status, 'passed', JSON.stringify(result.checks))
  assert.equal(readFileSync(join(worktree.top, 'a/more.txt'), 'utf8'), 'm\n')
})

/** Verifies as before landing: from where the work left its target. */
async function look({ world, worktree, base }: At, command: string, allow: string[] = []): Promise<VerificationResult> {
  const { store, clock, log, env } = world.deps
  const common = (await git(worktree.top, ['merge-base', `refs/heads/${worktree.target}`, 'HEAD'])).stdout.trim()
  return verify(
    {
      ...{
        worktree: { ...worktree, base: base ?? common },
        directory: worktree.directory,
        plan: [],
        openChildren: 0,
        round: 1,
      },
      signal: new AbortController().signal,
      task: { id: worktree.task, title: 'Do it', description: '', acceptance: '', attempt: 1 },
      gates: {
        ...{ profile: 'quick', commands: { test: command }, timeoutMs: 60_000, env: [], rounds: 3, verifier: 'off' },
        ...{
          knownFailures: 'block',
          unproven: 'ask',
          diff: { maxChangedLines: 0, forbiddenPaths: [], allow },
          caps: readCommandCaps(),
        },
      },
    },
    { store, clock, log, env, guard, isolation: 'marker', paths: { run: join(world.project, '..', 'run') } },
  )
}
