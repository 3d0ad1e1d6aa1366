import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { limitsText } from '../../src/cli/commands/report-format.ts'
import type { ScheduleRow } from '../../src/store/tables.ts'
import { commitsIn } from '../../src/supervisor/report/counts.ts'
import { tempDir } from '../support/world.ts'
import { aNight, MINUTE } from './a-night.ts'

const HOUR = 60 * MINUTE

test('a session that stood still for a limit before the time, or all through it, has waited in it', async t => {
  const { store, report, since, until } = await aNight(t)
  const { limits } = await report()
  const end = { kind: 'session.ended', body: { status: 'rate_limited', reason: 'limit' } } as const
  for (const subject of ['s-200001', 's-200002'])
    await store.append([{ ...end, actor: 'daemon', subject, time: since - HOUR }])
  await store.append([
    {
      actor: 'daemon',
      subject: 's-200001',
      kind: 'session.resumed',
      time: since + 2 * HOUR,
      body: { reason: 'reset' },
    },
    { actor: 'daemon', subject: 's-200002', kind: 'session.resumed', time: until + HOUR, body: { reason: 'reset' } },
  ])
  assert.ok(limits.waited_ms > 0)
  assert.equal((await report()).limits.waited_ms, until - since, 'what waits beside it is counted once, by the clock')
})

test('the time that work waited for a login is told as that, and is no limit', async t => {
  const { store, report, since, project } = await aNight(t)
  const { limits } = await report()
  assert.deepEqual([limits.login_ms, limits.credit_ms], [0, 0])
  const failed = (subject: string, from: number, to: number, failure: 'auth' | 'billing') =>
    store.append([
      {
        ...{ actor: 'daemon', subject, kind: 'session.ended', time: since + from * MINUTE },
        body: { status: 'paused', reason: 'not logged in', failure },
      },
      { actor: 'daemon', subject, kind: 'session.resumed', time: since + to * MINUTE, body: { reason: 'logged in' } },
    ])
  await failed('s-200001', -10, 2, 'auth')
  await failed('s-200002', 1, 5, 'auth')
  await failed('s-200003', 10, 11, 'billing')
  const after = (await report()).limits
  assert.deepEqual(after, { ...limits, login_ms: 5 * MINUTE, credit_ms: MINUTE })
  assert.equal(
    limitsText({ limits: { ...after, hits: 0, waited_ms: 2 * MINUTE } }),
    '2m 0s waited for a limit that was met earlier, or by other work\n5m 0s waited for a login\n1m 0s waited for credit',
  )
  assert.match(limitsText({ limits: after }) ?? '', /^1 limit met, 1h 12m.* waited\n/)
  assert.deepEqual((await report({ project })).limits, limits, 'of its own sessions only')
})

test('however many events there are, each counts once, and the loop turns meanwhile', async t => {
  const { store, report, since } = await aNight(t)
  const before = await report()
  const body = { call_id: 'c', tool: 'Read', target: 'a', ok: true, output: 'x'.repeat(100) }
  const call = (time: number) => ({ actor: 'agent', subject: 's-100001', kind: 'tool.finished', body, time }) as const
  await store.append(Array.from({ length: 1500 }, (_, index) => call(since + index)))
  await store.append(Array.from({ length: 700 }, (_, index) => call(since - 1 - index)))
  let turns = 0
  const turning = setInterval(() => turns++, 0)
  const after = await report()
  clearInterval(turning)
  assert.equal(after.spent.tool_calls, before.spent.tool_calls + 1500)
  assert.ok(turns > 0)
  assert.deepEqual([after.done, after.decisions, after.graph], [before.done, before.decisions, before.graph])
})

test('a run that was to begin and did not is told with its reason, of its own project only', async t => {
  const { store, report, since, project } = await aNight(t)
  const row: ScheduleRow = {
    ...{ id: 'c-1', project, target: { kind: 'project' }, options: {}, state: 'waiting', created_at: since - HOUR },
    ...{ at: null, every: 'day 23:00', quota_below: null, zone: 'UTC', pattern: '0 23 * * *', fired: 0 },
    ...{ due_at: since + 24 * HOUR, reason: null, last_fired_at: null, last_run_id: null },
  }
  await store.transaction(async tx => {
    await store.schedules.insert(row, tx)
    const held = { id: 'c-2', due_at: since + HOUR, reason: 'waits for the quota: 90 % used, to begin below 50 %' }
    await store.schedules.insert({ ...row, ...held }, tx)
  })
  const skipped = { reason: 'no run began: the project is not there', due_at: since + HOUR, next_at: row.due_at }
  await store.append([{ actor: 'daemon', subject: 'c-1', kind: 'schedule.skipped', body: skipped, time: since + HOUR }])
  const { not_begun } = await report({ project })
  assert.deepEqual(
    not_begun.map(({ schedule_id, due_at, reason }) => [schedule_id, due_at - since, reason.slice(0, 20)]),
    [
      ['c-1', HOUR, 'no run began: the pr'],
      ['c-2', HOUR, 'waits for the quota:'],
    ],
  )
  assert.deepEqual((await report({ project: '/elsewhere' })).not_begun, [])
})

test('a commit on the branch of a task belongs to no other task that was at work at that time', async t => {
  const { report, project } = await aNight(t)
  const told = async () => (await report()).done.map(({ commits }) => commits.map(({ subject }) => subject))
  const before = await told()
  const [hash = '', at = ''] = execFileSync('git', ['log', '-1', '--format=%H %ct'], { cwd: project, encoding: 'utf8' })
    .trim()
    .split(' ')
  assert.ok(hash)
  const env = { ...process.env, GIT_COMMITTER_DATE: `@${at} +0000`, GIT_AUTHOR_DATE: `@${at} +0000` }
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@x']
  const words = [...who, 'commit-tree', `${hash}^{tree}`, '-p', hash, '-m', 'of another task']
  const other = execFileSync('git', words, { cwd: project, env, encoding: 'utf8' }).trim()
  execFileSync('git', ['branch', 'pcc/t-999999', other], { cwd: project })
  assert.deepEqual(await told(), before)
  execFileSync('git', ['branch', 'mine', other], { cwd: project })
  assert.notDeepEqual(await told(), before, 'a branch of the agent counts')
})

test('asking a repository for its commits starts no program that its settings name', async t => {
  const project = tempDir(t, 'pcc-planted-')
  const mark = join(tempDir(t), 'mark')
  const env = { PATH: process.env['PATH'], HOME: project }
  const git = (...words: string[]) => execFileSync('git', words, { cwd: project, env, encoding: 'utf8' }).trim()
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@x']
  git('init', '-q', '-b', 'main')
  for (const subject of ['one', 'two']) git(...who, 'commit', '-q', '--allow-empty', '-m', subject)
  const lost = git('rev-parse', 'HEAD~1')
  for (const [key, value] of [
    ['core.repositoryformatversion', '1'],
    ['extensions.partialClone', 'evil'],
    ['remote.evil.promisor', 'true'],
    ['remote.evil.url', project],
    ['remote.evil.uploadpack', `touch ${mark}; false`],
  ])
    git('config', key ?? '', value ?? '')
  rmSync(join(project, '.git/objects', lost.slice(0, 2), lost.slice(2)))
  assert.deepEqual(await commitsIn(project, 0, Date.now() + HOUR), [])
  assert.equal(existsSync(mark), false)
})
