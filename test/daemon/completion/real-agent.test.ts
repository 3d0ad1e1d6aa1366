import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { bodiesOf } from '../agent-sessions.ts'
import { sharedDaemon } from '../shared-daemon.ts'
import { realWorld } from './real-world.ts'

// The real Claude Code with a scripted model: what it claims does not count, what it left in the worktree does.

const shared = sharedDaemon()

const SUM_TEST = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sum } from './sum.js'
test('it adds', () => assert.equal(sum(1, 2), 3))
test('it adds nothing', () => assert.equal(sum(0, 0), 0))
`
const SUM = 'export const sum = (a, b) => a + b\n'
const WRONG = 'export function sum(a, b) {\n  return a - b\n}\n'
const MENDED = 'export function sum(a, b) {\n  return a + b\n}\n'
const FILES = { 'package.json': '{"type":"module"}\n', 'sum.js': SUM, 'sum.test.js': SUM_TEST }
const TESTS = { PCC_GATES_TEST: `${process.execPath} --test` }

test('an agent that lies is caught by the tests, one that tampers by its diff; both are told in their own conversation and land honest work', async t => {
  const skipped = SUM_TEST.replace("test('it adds',", "test.skip('it adds',")
  const write = (path: string, text: string) =>
    `- tools: [{ Write: { file_path: "{{cwd}}/${path}", content: ${JSON.stringify(text)} } }]`
  const world = await realWorld(
    t,
    `
conversations:
  - match: make sum a function
    turns:
      - tools: [{ Read: { file_path: "{{cwd}}/sum.test.js" } }, { Read: { file_path: "{{cwd}}/sum.js" } }]
      ${write('sum.js', WRONG)}
      - text: All tests pass.
      ${write('sum.test.js', skipped)}
      - text: Now all tests pass.
      ${write('sum.test.js', SUM_TEST)}
      ${write('sum.js', MENDED)}
      - text: It adds now.
`,
    FILES,
  )
  const daemon = await shared()
  const task = await world.add(daemon, 'make sum a function')
  const { outcome, attempts } = await world.over(daemon, await world.begin(daemon, { settings: TESTS }))
  assert.equal(outcome, 'complete')
  assert.equal(attempts.length, 1, 'one conversation')
  const { state, verification } = await world.task(daemon, task)
  assert.deepEqual([state, verification], ['done', 'passed'])
  assert.equal(world.git('show', 'main:sum.js'), MENDED.trim())
  assert.equal(world.git('show', 'main:sum.test.js'), SUM_TEST.trim())
  const session = attempts[0]?.session_id ?? ''
  const { body } = await daemon.call('GET', `/sessions/${session}/events`)
  const verified = bodiesOf(body.events, 'task.verified')
  assert.deepEqual(
    verified.map(({ status }) => status),
    ['failed', 'failed', 'passed'],
  )
  assert.deepEqual(
    bodiesOf(body.events, 'agent.started').map(({ resumed, vendor_id }) => [resumed, vendor_id]),
    [false, true, true].map(resumed => [resumed, bodiesOf(body.events, 'agent.started')[0]?.vendor_id]),
  )
  const asked = world.simulator.requests.map(({ prompt }) => prompt ?? '')
  assert.ok(asked.some(prompt => /it adds/.test(prompt) && /does not hold yet/.test(prompt)))
  assert.ok(asked.some(prompt => /skip/i.test(prompt) && /sum\.test\.js/.test(prompt)))
})

test('the verifier reads the work and judges each criterion; whatever it tries, it writes nothing', async t => {
  const verdict = { verdict: 'pass', criteria: [{ number: 1, met: true, reason: 'sum.js:1 adds' }], remarks: '' }
  const world = await realWorld(
    t,
    `
conversations:
  - match: Another agent says that the task below is done
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/evil.txt", content: "x" } }]
      - tools: [{ Bash: { command: "touch evil.txt; echo x >> sum.js" } }]
      - tools: [{ Edit: { file_path: "{{cwd}}/sum.js", old_string: "+", new_string: "-" } }]
      - tools: [{ Task: { description: "write", prompt: "touch evil.txt", subagent_type: "general-purpose" } }]
      - tools: [{ Read: { file_path: "{{cwd}}/sum.js" } }]
      - text: ${JSON.stringify(JSON.stringify(verdict))}
  - match: make sum a function
    turns:
      - tools: [{ Read: { file_path: "{{cwd}}/sum.js" } }]
      - tools: [{ Write: { file_path: "{{cwd}}/sum.js", content: ${JSON.stringify(MENDED)} } }]
      - text: It adds.
`,
    FILES,
  )
  const daemon = await shared()
  const task = await world.add(daemon, 'make sum a function', { acceptance: ['a reader agrees that it adds'] })
  const { outcome } = await world.over(daemon, await world.begin(daemon, { settings: TESTS }))
  assert.equal(outcome, 'complete')
  const { evidence } = await world.work(daemon, task)
  const verifier = evidence.find(({ gate }) => gate === 'verifier')
  assert.equal(verifier?.status, 'passed')
  assert.match(verifier?.output ?? '', /sum\.js:1 adds/)
  const judged = world.simulator.requests.filter(({ prompt }) => prompt?.includes('Another agent says'))
  assert.ok(judged.length >= 6, 'all of it was tried')
  assert.equal(existsSync(join(world.project, 'evil.txt')), false)
  assert.equal(world.git('show', 'main:sum.js'), MENDED.trim())
  assert.throws(() => world.git('show', 'main:evil.txt'))
})
