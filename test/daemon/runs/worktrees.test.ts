import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { recordWith } from '../../../src/cli/commands/accept.ts'
import type { SessionView } from '../../../src/domain/api.ts'
import type { RunDetail } from '../../../src/domain/run.ts'
import { grantTrust, trustStatus } from '../../../src/policy/trust/trust.ts'
import { bareEnv, commitAll, UNPROVEN_ALLOWED } from '../../support/world.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { sharedDaemon } from '../shared-daemon.ts'

// Runs with the real agent, in worktrees of a git project.

const shared = sharedDaemon()

const SCENARIO = `
conversations:
  - match: write one
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/one.txt", content: "one" } }]
      - tools: [{ Bash: { command: 'git add one.txt && git commit -qm "one"' } }]
      - text: Done.
  - match: write two
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/two.txt", content: "two" } }]
      - tools: [{ Bash: { command: 'git add two.txt && git commit -qm "two"' } }]
      - text: Done.
  - match: wait here
    turns: [{ text: Working., latency: 30000 }]
`

async function world(t: TestContext) {
  const made = await agentSessions(t, SCENARIO, { shared })
  const { daemon, project, env } = made
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: project, env: bareEnv(project), encoding: 'utf8' }).trim()
  for (const [name, value] of [
    ['user.name', 'Agent'],
    ['user.email', 'agent@example.invalid'],
  ])
    git('config', name ?? '', value ?? '')
  return {
    ...made,
    git,
    add: async (title: string) =>
      (await daemon.call<{ task: { id: string } }>('POST', '/tasks', { body: { project, title } })).body.task.id,
    /** Runs the project to its end. */
    async run(more: object = {}): Promise<RunDetail> {
      const body = { project, target: { kind: 'project' }, env, ...more }
      const { id } = (await daemon.call<RunDetail>('POST', '/runs', { body })).body
      const stream = await daemon.stream('/events')
      await stream.until(({ kind, subject }) => kind === 'run.ended' && subject === id)
      stream.close()
      return (await daemon.call<RunDetail>('GET', `/runs/${id}`)).body
    },
  }
}

test('a task of a run works in a worktree of its own, on a branch of its own, under the settings that were agreed to', async t => {
  const { daemon, project, git, add, run, log } = await world(t)
  const hook = (command: string) => ({ hooks: { UserPromptSubmit: [{ hooks: [{ type: 'command', command }] }] } })
  mkdirSync(join(project, '.claude'))
  const settings = join(project, '.claude/settings.json')
  writeFileSync(settings, JSON.stringify(hook('true')))
  const { paths } = daemon
  await grantTrust(paths, await trustStatus(paths, project), { record: recordWith(paths) })
  // Another agent committed this; the person's checkout still has what they agreed to.
  const evil = join(project, 'hook-ran.txt')
  writeFileSync(settings, JSON.stringify(hook(`touch ${evil}`)))
  commitAll(project, 'an agent was here')
  writeFileSync(settings, JSON.stringify(hook('true')))
  const task = await add('write one')
  // The person's checkout has changes, so nothing is merged into it.
  const { attempts, outcome } = await run({ settings: { PCC_MERGE_MODE: 'off', ...UNPROVEN_ALLOWED } })
  assert.equal(outcome, 'complete')
  const [attempt] = attempts
  assert.equal(attempt?.place?.branch, `pcc/${task}`)
  assert.ok(attempt.place.top.startsWith(join(daemon.paths.home, 'worktrees')))
  const session = (await daemon.call<SessionView>('GET', `/sessions/${attempt.session_id}`)).body
  assert.deepEqual([session.project, session.place?.branch], [project, `pcc/${task}`])
  assert.equal(existsSync(evil), false, 'a hook that nobody agreed to')
  const notes = bodiesOf(await log(attempt.session_id), 'session.noted')
    .map(({ text }) => text)
    .join('\n')
  assert.match(notes, /Works in a worktree of its own, on branch pcc\/t-/)
  assert.match(notes, /Project settings not loaded \(changed since you agreed: \.claude\/settings\.json\)/)
  assert.match(git('log', '--all', '--format=%s'), /^one$/m)
  rmSync(settings)
})

test('with execution.parallel two tasks of a run are done at once, each in a worktree of its own, and both land', async t => {
  const { add, run, git, project } = await world(t)
  await add('write one')
  await add('write two')
  const { attempts, outcome, parallel, merged, unmerged } = await run({
    settings: { PCC_PARALLEL: '2', ...UNPROVEN_ALLOWED },
  })
  assert.deepEqual([outcome, parallel, attempts.length], ['complete', 2, 2])
  const [one, two] = attempts
  assert.ok((two?.started_at ?? 0) < (one?.ended_at ?? 0), 'the second began before the first was over')
  assert.notEqual(one?.place?.top, two?.place?.top)
  assert.deepEqual(git('log', 'main', '--format=%s').split('\n').sort(), ['first', 'one', 'two'], 'both landed')
  assert.deepEqual(
    ['one.txt', 'two.txt'].map(file => existsSync(join(project, file))),
    [true, true],
  )
  // A branch is deleted after the merge was reported.
  while (git('branch', '--list', 'pcc/*') !== '') await new Promise(resolve => setTimeout(resolve, 20))
  assert.deepEqual([merged, unmerged], [2, 0])
})

test('a session that is started in a worktree works on the branch of its task; what cannot be is refused', async t => {
  const { start, daemon, git } = await world(t)
  const { id, place, task_id } = await start('write one', { worktree: true })
  assert.equal(place?.branch, `pcc/${task_id}`)
  const addSecond = () =>
    daemon.call<{ error: { code: string; next: string } }>('POST', `/sessions/${id}/tasks`, {
      body: { task: 'write two' },
    })
  const refused = await addSecond()
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'session_in_worktree'])
  assert.match(refused.body.error.next, /pcc task add .* pcc run /)
  const stream = await daemon.stream('/events')
  await stream.until(({ kind, body }) => kind === 'task.finished' && body.task_id === task_id)
  stream.close()
  assert.match(git('log', 'main', '--format=%s'), /^one$/m, 'it lands like a task of a run')
  assert.equal((await addSecond()).body.error.code, 'session_in_worktree', 'also when it is over')
  const resumed = await daemon.call<typeof refused.body>('POST', `/sessions/${id}/resume`, { body: {} })
  assert.deepEqual(resumed.body.error.code, 'session_complete', 'what is merged is not offered to be done again')
  assert.match(resumed.body.error.next, /pcc task add .* pcc run /)
  const queue = await daemon.call<{ tasks: unknown[] }>('GET', `/sessions/${id}/tasks`)
  assert.equal(queue.body.tasks.length, 1, 'nothing was written')
  const tasks = ['write one', 'write two'].map(text => ({ text, priority: 0, after: [] }))
  await assert.rejects(
    start('write one', { worktree: true, tasks }),
    /one task lands from a worktree, and 2 were given/,
  )
  const resume = { vendor_id: '00000000-0000-4000-8000-000000000000', fork: false }
  await assert.rejects(start('write one', { worktree: true, resume }), /goes on where it began/)
  const settings = { PCC_WORKTREES_MODE: 'off' }
  await assert.rejects(start('write one', { worktree: true, settings }), /worktrees\.mode is off.*Leave --worktree out/)
  assert.deepEqual(git('worktree', 'list').split('\n').length <= 2, true, 'nothing is left of what was refused')
})

test('a session whose worktree is gone says so, and what to do', async t => {
  const { start, daemon } = await world(t)
  const { id, place } = await start('Please wait here', { worktree: true })
  await daemon.call('POST', `/sessions/${id}/stop`)
  rmSync(place?.directory ?? '', { recursive: true })
  const reply = await daemon.call<{ error: { code: string; next: string } }>('POST', `/sessions/${id}/resume`, {
    body: {},
  })
  assert.equal(reply.body.error.code, 'worktree_gone')
  assert.match(reply.body.error.next, /pcc worktree restore t-.*pcc task reset t-/)
})
