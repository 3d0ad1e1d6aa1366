import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { bodiesOf } from '../agent-sessions.ts'
import { sharedDaemon } from '../shared-daemon.ts'
import { realWorld } from './real-world.ts'

// The real Claude Code with a scripted model, in worktrees: what happens to files that git ignores, and to work that another task has
// landed.

const shared = sharedDaemon()

const CHECK = 'node_modules/check/check'

test('an agent that makes its test runner pass everything is caught: the runner is the project’s again when gates run', async t => {
  const write = (path: string, text: string) =>
    `- tools: [{ Write: { file_path: "{{cwd}}/${path}", content: ${JSON.stringify(text)} } }]`
  const world = await realWorld(
    t,
    `
conversations:
  - match: write the answer
    turns:
      ${write('answer.txt', 'wrong\n')}
      ${write('src/pass.js', `require('fs').writeFileSync('${CHECK}', '#!/bin/sh\\nexit 0\\n')\n`)}
      - tools: [{ Bash: { command: node src/pass.js } }]
      - text: All checks pass.
      - tools: [{ Read: { file_path: "{{cwd}}/answer.txt" } }]
      ${write('answer.txt', 'right\n')}
      - text: Now it is right.
`,
    { '.gitignore': 'node_modules\n', 'package.json': '{}\n' },
  )
  mkdirSync(join(world.project, dirname(CHECK)), { recursive: true })
  writeFileSync(join(world.project, CHECK), '#!/bin/sh\ngrep -q right answer.txt\n')
  chmodSync(join(world.project, CHECK), 0o755)
  const daemon = await shared()
  const task = await world.add(daemon, 'write the answer')
  const run = await world.begin(daemon, { settings: { PCC_GATES_TEST: CHECK } })
  const { outcome, attempts } = await world.over(daemon, run)
  assert.equal(outcome, 'complete')
  assert.equal(world.git('show', 'main:answer.txt'), 'right')
  const { body } = await daemon.call('GET', `/sessions/${attempts[0]?.session_id}/events`)
  const verified = bodiesOf(body.events, 'task.verified')
  assert.deepEqual(
    verified.map(({ status }) => status),
    ['failed', 'passed'],
  )
  assert.ok(
    verified[0]?.checks.some(({ gate }) => gate === 'dependencies'),
    'it was written, and put back',
  )
  assert.match(readFileSync(join(world.project, CHECK), 'utf8'), /grep/, 'the project’s own was never touched')
  assert.equal((await world.task(daemon, task)).verification, 'passed')
})

test('of two tasks that change the same line both land, the second through its own conversation', async t => {
  // The words of the two tasks have nothing in common: else the scheduler would keep them apart, and there would be no conflict.
  const first = 'put one into the list'
  const other = 'write down the second'
  const conversation = (task: string, own: string) => `
  - match: ${task}
    turns:
      - tools: [{ Read: { file_path: "{{cwd}}/list.txt" } }]
      - tools: [{ Write: { file_path: "{{cwd}}/list.txt", content: "${own}\\n" } }]
      - text: It is in the list.
      - tools: [{ Read: { file_path: "{{cwd}}/list.txt" } }]
      - tools: [{ Write: { file_path: "{{cwd}}/list.txt", content: "one and two\\n" } }]
      - tools: [{ Bash: { command: "git add list.txt" } }]
      - text: Both are in the list.`
  const world = await realWorld(t, `conversations:${conversation(first, 'one')}${conversation(other, 'two')}\n`, {
    'list.txt': 'nothing\n',
  })
  const daemon = await shared()
  const tasks = [await world.add(daemon, first), await world.add(daemon, other)]
  const run = await world.begin(daemon, { parallel: 2, settings: { PCC_GATES_TEST: '! grep -q "<<<<" list.txt' } })
  const { outcome, attempts } = await world.over(daemon, run)
  assert.equal(outcome, 'complete')
  assert.equal(attempts.length, 2, 'one attempt each')
  assert.equal(world.git('show', 'main:list.txt'), 'one and two')
  assert.equal(world.git('rev-list', '--count', '--no-merges', 'main'), '3')
  for (const task of tasks) assert.equal((await world.task(daemon, task)).verification, 'passed')
  const events = await Promise.all(
    attempts.map(async ({ session_id }) => (await daemon.call('GET', `/sessions/${session_id}/events`)).body.events),
  )
  const returned = events.filter(each => bodiesOf(each, 'task.returned').length > 0)
  assert.equal(returned.length, 1, 'one of them came second')
  const [second] = returned
  assert.deepEqual(
    bodiesOf(second, 'task.returned').map(({ cause }) => cause),
    ['conflict'],
  )
  const started = bodiesOf(second, 'agent.started')
  assert.deepEqual(
    started.map(({ resumed }) => resumed),
    [false, true],
  )
  assert.equal(started[0]?.vendor_id, started[1]?.vendor_id, 'the same conversation')
  const prompts = world.simulator.requests.map(({ prompt }) => prompt ?? '')
  assert.ok(prompts.some(prompt => /stands still/.test(prompt) && /<<<<<<</.test(prompt)))
})
