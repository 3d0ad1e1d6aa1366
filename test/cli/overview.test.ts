import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { nextLines } from '../../src/cli/overview.ts'
import { terminalOf } from '../../src/cli/render/text.ts'
import { openStore } from '../../src/store/open.ts'
import { tempDir } from '../support/world.ts'
import { recordRefused } from './commands/inbox/waiting.ts'
import { pccFor } from './pcc.ts'
import { seed } from './seeded.ts'

test('pcc without a command shows what sessions do, when the next goes on, and what needs the person', async t => {
  const pcc = pccFor(t)
  const resumes_at = Date.now() + 3_600_000
  await seed(pcc, [
    { id: 's-aaaaaa', name: 'done' },
    { id: 's-bbbbbb', name: 'limited', ended_as: 'rate_limited', ended_at: Date.now(), resumes_at },
    { id: 's-cccccc', name: 'held', ended_as: 'paused', status_reason: 'paused by a person; go on with: …' },
  ])
  const asleep = (await pcc.run([])).stdout
  assert.match(
    asleep,
    /^No daemon is running.*\n\nNext\n {2}pcc pending .*\n {2}pcc list .*pcc resume .*\n {2}pcc help .*\n$/,
  )
  assert.equal((await pcc.run(['daemon', 'start'])).code, 0)
  const calm = (await pcc.run([])).stdout
  assert.match(calm, /^2 sessions are open, 3 in all: 1 waits for a limit, 1 is paused; nothing needs you\.\n/)
  assert.match(calm, /\nNext\n {2}pcc init .*\n {2}pcc start .*\n {2}pcc help .*\n$/)
  assert.match(calm, /\nThe next session goes on by itself at .*\d\d:\d\d\.\n/)
  assert.doesNotMatch(calm, /pcc inbox|Ended/, 'a session that waits is not over')

  const project = tempDir(t)
  writeFileSync(join(project, '.perpetualcc.toml'), '')
  const setUp = (await pcc.run([], { cwd: project })).stdout
  assert.match(setUp, /\nNext\n {2}pcc task add .*\n {2}pcc start .*\n/, 'a project is set up once')
  assert.equal((await pcc.run(['task', 'add', 'One'], { cwd: project })).code, 0)
  assert.match((await pcc.run([], { cwd: project })).stdout, /\nNext\n {2}pcc run \. .*\n {2}pcc task add .*\n/)

  await recordRefused(
    pcc,
    Array.from({ length: 7 }, (_, index) => ({
      normalised: `Bash ln -s a\u001b[2J b${index}`,
      state: 'open' as const,
    })),
  )
  const { stdout } = await pcc.run([])
  assert.match(stdout, /; you are needed\.\n/)
  assert.match(
    stdout,
    /\n7 things wait for you: pcc pending\n {3}1 {2}Perm\. +s-aaaaaa {2}Approve: ln -s a␛\[2J b0 +just now\n/,
  )
  assert.match(stdout, /\n {3}5 {2}Perm\..*\n {6}and 2 more\nWork through them by keys: pcc inbox\n/)
  assert.doesNotMatch(stdout, /\u001b/)
  assert.match(stdout, /\nNext\n {2}pcc inbox .*\n/)
  assert.doesNotMatch(stdout, /Usage: pcc/)
  assert.ok(stdout.split('\n').length <= 24, 'it is one screen')
})

test('a run of which nothing is at work is said to wait, with the reason', async t => {
  const pcc = pccFor(t)
  const resumes_at = Date.now() + 3_600_000
  await seed(pcc, [{ ended_as: 'rate_limited', ended_at: Date.now(), resumes_at, task_id: 't-aaaaaa' }])
  assert.equal((await pcc.run(['daemon', 'start'])).code, 0)
  {
    await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
    const nothing = { outcome: null, reason: null, gave_up: null, stopping: false, iterations: 1, ended_at: null }
    const target = { kind: 'project' as const }
    const run = { id: 'r-aaaaaa', project: '/nowhere/shop', target, options: {}, state: 'running' as const, ...nothing }
    const attempt = {
      ...{ task_id: 't-aaaaaa', number: 1, run_id: run.id, iteration: 1, session_id: 's-aaaaaa', model: null },
      ...{ outcome: null, reason: null, result: null, next_model: null, failure: null, cost_usd: 0, rounds: 0 },
      ...{ started_at: Date.now(), ended_at: null },
    }
    await store.transaction(async tx => {
      await store.runs.insert({ ...run, created_at: Date.now() }, tx)
      await store.runs.begin(attempt, tx)
    })
  }
  const said = (await pcc.run([])).stdout
  assert.match(said, /\nRun r-aaaaaa in shop waits: 0 of \d tasks done\. t-aaaaaa: waits for its limit until /)
  assert.match(said, /pcc attach r-aaaaaa +see what it waits for/)
})

test('at 40 columns what to type next stands in lines of its own, each with its reason below', () => {
  const terminal = terminalOf({ isTTY: true, columns: 40 }, { NO_COLOR: '1' })
  const steps = [['pcc list', 'all sessions; pcc resume lets a paused run go on'] as const]
  assert.deepEqual(nextLines(steps, terminal), [
    '  pcc list',
    '    all sessions; pcc resume lets a',
    '    paused run go on',
  ])
  const wide = terminalOf({ isTTY: true, columns: 80 }, { NO_COLOR: '1' })
  assert.deepEqual(nextLines(steps, wide), ['  pcc list  all sessions; pcc resume lets a paused run go on'])
})
