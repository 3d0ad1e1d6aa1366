import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openGuard } from '../../../src/base/process/guardian.ts'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { readCommandCaps } from '../../../src/workspace/command/command-caps.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { noteFileOf } from '../../../src/workspace/worktrees/worktree-note.ts'
import { tempDir } from '../../support/world.ts'
import { openWorktreeFixture, type WorktreeFixture, write } from '../worktrees/worktree-fixture.ts'

const RUNNER = 'node_modules/.bin/check'
const guard = openGuard()

/** A project whose test command is a program of its dependencies, which fails on a file that holds "wrong". */
async function world(t: TestContext, setup?: string) {
  const files = { '.gitignore': 'node_modules\n*.tsbuildinfo\n', 'package.json': '{}\n', 'work.txt': 'right\n' }
  const made = await openWorktreeFixture(t, { files, settings: setup === undefined ? {} : { setup } })
  write(made.project, {
    [RUNNER]: '#!/bin/sh\n! grep -q wrong work.txt\n',
    'node_modules/lib/package.json': '{"version":"1.0.0"}\n',
    'node_modules/lib/main.js': 'lib\n',
  })
  chmodSync(join(made.project, RUNNER), 0o755)
  const worktree = await made.make()
  write(worktree.top, { 'work.txt': 'wrong\n' })
  return { made, worktree, look: (round = 1) => runVerify({ made, worktree, round, setup }) }
}

function runVerify(options: { made: WorktreeFixture; worktree: Worktree; round: number; setup: string | undefined }) {
  const { made, worktree, round, setup } = options
  const { store, clock, log, env } = made.deps
  return verify(
    {
      ...{
        place: worktree,
        directory: worktree.directory,
        plan: [],
        openChildren: 0,
        round,
        signal: new AbortController().signal,
      },
      dependencies: { project: made.project, setup, setupMs: 60_000 },
      task: { id: 't-1', title: 'Do it', description: '', acceptance: '', attempt: 1 },
      gates: {
        ...{ profile: 'quick', commands: { test: RUNNER }, timeoutMs: 60_000, env: [], rounds: 3, verifier: 'off' },
        ...{
          knownFailures: 'block',
          unproven: 'ask',
          diff: { maxChangedLines: 0, forbiddenPaths: [], allow: [] },
          caps: readCommandCaps(),
        },
      },
    },
    { store, clock, log, env, guard, isolation: 'marker', paths: { run: join(made.project, '..', 'run') } },
  )
}

test('a runner in node_modules/.bin that the agent made pass everything is put back before the gates, and that is evidence', async t => {
  const { worktree, look } = await world(t)
  const runner = join(worktree.top, RUNNER)
  write(worktree.top, { [RUNNER]: '#!/bin/sh\nexit 0\n' })
  utimesSync(runner, 1, 1) // the agent can set the modification time
  const result = await look()
  assert.equal(result.status, 'failed')
  const told = result.checks.find(({ gate }) => gate === 'dependencies')
  assert.match(told?.findings[0]?.text ?? '', /node_modules\/\.bin\/check\. They are as in the project again/)
  assert.match(readFileSync(runner, 'utf8'), /grep/)
  const again = await look(2)
  assert.equal(
    again.checks.some(({ gate }) => gate === 'dependencies'),
    false,
    'what was put back counts as set up',
  )
})

test('a package that is edited, taken away or led elsewhere by a link is as in the project again', async t => {
  const { made, worktree, look } = await world(t)
  write(worktree.top, { 'node_modules/lib/main.js': 'mine\n', 'node_modules/.bin/other': 'x\n' })
  await look()
  assert.equal(readFileSync(join(worktree.top, 'node_modules/lib/main.js'), 'utf8'), 'lib\n')
  assert.equal(existsSync(join(worktree.top, 'node_modules/.bin/other')), false)
  rmSync(join(worktree.top, 'node_modules/lib'), { recursive: true })
  symlinkSync(tempDir(t), join(worktree.top, 'node_modules/lib'))
  await look(2)
  assert.equal(readFileSync(join(worktree.top, 'node_modules/lib/main.js'), 'utf8'), 'lib\n')
  rmSync(join(worktree.top, 'node_modules'), { recursive: true })
  symlinkSync(join(made.project, 'node_modules'), join(worktree.top, 'node_modules'))
  const result = await look(3)
  assert.match(result.findings.map(({ text }) => text).join(), /node_modules was gone/)
  assert.equal(result.status, 'failed')
})

test('the same files installed once more are no finding', async t => {
  const { worktree, look } = await world(t)
  write(worktree.top, { 'node_modules/lib/main.js': 'lib\n', 'node_modules/.cache/x': 'x\n', 'a.tsbuildinfo': '{}' })
  const result = await look()
  assert.equal(
    result.checks.some(({ gate }) => gate === 'dependencies'),
    false,
  )
  assert.equal(existsSync(join(worktree.top, 'a.tsbuildinfo')), false, 'what checkers remember is gone')
  assert.equal(existsSync(join(worktree.top, 'node_modules/.cache')), false)
})

test('work that changes the manifest keeps what it installed, and packages of an unchanged version stay as they were', async t => {
  const { worktree, look } = await world(t)
  write(worktree.top, {
    'package.json': '{"dependencies":{"new":"1.0.0"}}\n',
    'node_modules/new/package.json': '{"version":"1.0.0"}\n',
    'node_modules/lib/main.js': 'mine\n',
    [RUNNER]: '#!/bin/sh\nexit 0\n',
  })
  const result = await look()
  assert.equal(result.status, 'failed')
  assert.equal(existsSync(join(worktree.top, 'node_modules/new/package.json')), true)
  assert.equal(readFileSync(join(worktree.top, 'node_modules/lib/main.js'), 'utf8'), 'lib\n')
})

test('with a set-up command, dependencies that were changed along with the manifest are made anew by it', async t => {
  const { worktree, look } = await world(t, `mkdir -p node_modules/.bin && cp right-runner ${RUNNER} 2>/dev/null; true`)
  write(worktree.top, {
    'package.json': '{"dependencies":{"new":"1.0.0"}}\n',
    'right-runner': '#!/bin/sh\n! grep -q wrong work.txt\n',
    [RUNNER]: '#!/bin/sh\nexit 0\n',
  })
  chmodSync(join(worktree.top, 'right-runner'), 0o755)
  const result = await look()
  assert.equal(result.status, 'failed')
  assert.match(result.findings.map(({ text }) => text).join(), /set up anew\. mkdir/)
})

test('dependencies that the agent made itself are told as such', async t => {
  const made = await openWorktreeFixture(t, { files: { '.gitignore': 'node_modules\n', 'work.txt': 'right\n' } })
  const worktree = await made.make()
  write(worktree.top, { [RUNNER]: '#!/bin/sh\nexit 0\n', 'work.txt': 'other\n' })
  chmodSync(join(worktree.top, RUNNER), 0o755)
  const result = await runVerify({ made, worktree, round: 1, setup: undefined })
  assert.equal(result.status, 'passed')
  assert.deepEqual(
    result.findings.map(({ code }) => code),
    ['dependencies.unknown'],
  )
})

test('where nothing is left to set up from, nothing is believed and a person is asked', async t => {
  const { made, worktree, look } = await world(t)
  write(worktree.top, { [RUNNER]: '#!/bin/sh\nexit 0\n' })
  rmSync(join(made.project, 'node_modules'), { recursive: true })
  const result = await look()
  assert.equal(result.status, 'broken')
  assert.equal(existsSync(noteFileOf(worktree.top)), true)
  await made.remove(worktree, { archive: true })
  assert.equal(existsSync(noteFileOf(worktree.top)), false)
})
