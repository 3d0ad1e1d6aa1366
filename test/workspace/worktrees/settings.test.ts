import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { silentLog } from '../../../src/base/log.ts'
import { findProcessesIn } from '../../../src/base/process/sweep.ts'
import { readWorktreeDeps } from '../../../src/daemon/context.ts'
import { archiveOldWorktrees } from '../../../src/daemon/retention.ts'
import { makeWorktree } from '../../../src/workspace/worktrees/make-worktree.ts'
import { tempDir } from '../../support/world.ts'
import { openWorktreeFixture, write } from './worktree-fixture.ts'

const DAY = 24 * 60 * 60_000

test('worktrees.mode: "off" lets a task work in the project itself', async t => {
  const { project, deps } = await openWorktreeFixture(t, { settings: { mode: 'off' } })
  const worktree = await makeWorktree({ project, task: 't-000001', attempt: 1 }, deps)
  assert.deepEqual(worktree, { kind: 'in_place', why: 'worktrees.mode is off' })
})

test('worktrees.directory: worktrees lie where it says, or else in the home of pcc', async t => {
  const { deps } = await openWorktreeFixture(t)
  const home = tempDir(t)
  const paths = appPathsFor({ env: { PCC_HOME: home } })
  const rootWith = async (config: string) => {
    write(home, { 'config.toml': config })
    return (await readWorktreeDeps({ paths, env: {}, store: deps.store, log: silentLog })).root
  }
  assert.equal(await rootWith(''), join(home, 'worktrees'))
  assert.equal(await rootWith('worktrees.directory = "/somewhere/else"\n'), '/somewhere/else')
})

test('worktrees.setup: the command makes a worktree ready, and what became of it is noted', async t => {
  const setup = 'echo "$PWD|$CI|$ANTHROPIC_API_KEY|" > ready; echo out of luck; test -n "$FINE"'
  const world = await openWorktreeFixture(t, { settings: { setup } })
  world.deps.env['ANTHROPIC_API_KEY'] = 'sk-ant-fake-0000'
  const worktree = await world.make()
  assert.equal(readFileSync(join(worktree.directory, 'ready'), 'utf8'), `${worktree.directory}|1||\n`)
  const noted = (await world.deps.store.worktrees.get(worktree))?.setup ?? ''
  assert.match(noted, /failed with exit code 1 after [\d.]+ s\nout of luck$/)
  assert.equal((await world.deps.store.worktrees.get(worktree))?.state, 'live', 'the work begins all the same')
})

test('worktrees.setup_seconds: a command that takes longer is ended with all it started', async t => {
  const setup = 'sleep 300 & wait'
  const world = await openWorktreeFixture(t, { settings: { setup, setup_seconds: 1 } })
  const worktree = await world.make()
  assert.match((await world.deps.store.worktrees.get(worktree))?.setup ?? '', /took too long and was ended after 1/)
  assert.deepEqual(await findProcessesIn(worktree.directory), [])
})

test('worktrees.link: the named directories are copied, without it those that are usual', async t => {
  const files = { '.gitignore': 'node_modules\ndeps\n', 'a.txt': 'a\n' }
  const world = await openWorktreeFixture(t, { files })
  write(world.project, { 'node_modules/x/index.js': 'x\n', 'deps/y.txt': 'y\n' })
  const usual = await world.make()
  assert.deepEqual(
    [existsSync(join(usual.top, 'node_modules/x/index.js')), existsSync(join(usual.top, 'deps'))],
    [true, false],
  )
  world.deps.settings.link = ['deps']
  const named = await world.make({ task: 't-000002' })
  assert.deepEqual(
    [existsSync(join(named.top, 'node_modules')), existsSync(join(named.top, 'deps/y.txt'))],
    [false, true],
  )
})

test('worktrees.keep_days: a worktree whose task is over is archived when it is old, and later its archive goes', async t => {
  const { deps, ...world } = await openWorktreeFixture(t)
  const home = tempDir(t)
  const paths = appPathsFor({ env: { PCC_HOME: home } })
  mkdirSync(paths.data, { recursive: true })
  const worktree = await world.make()
  write(worktree.top, { 'left.txt': 'left\n' })
  const round = (days: number, now: number) => {
    write(home, { 'config.toml': `worktrees.keep_days = ${days}\n` })
    const clock = { now: () => now }
    const signal = new AbortController().signal
    return archiveOldWorktrees({ paths, env: {}, store: deps.store, log: silentLog, clock, signal })
  }
  const made = deps.clock.now()
  assert.equal(await round(20, made + 10 * DAY), 0)
  assert.equal(existsSync(worktree.top), true)
  assert.equal(await round(5, made + 10 * DAY), 1)
  const row = await deps.store.worktrees.get(worktree)
  assert.equal(row?.state, 'archived')
  assert.equal(await round(5, made + 14 * DAY), 0)
  assert.equal(world.git('show', `${row?.archive}:left.txt`), 'left\n')
  assert.equal(await round(5, made + 16 * DAY), 1)
  assert.equal(world.git('for-each-ref', 'refs/pcc'), '')
})
