import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Terminals } from '../../../src/agents/acp/client/terminals.ts'
import type { Named } from '../../../src/agents/acp/messages/request-of.ts'
import { openGuard } from '../../../src/base/process/guardian.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { until } from '../conformance/world.ts'

const SIGNAL = new AbortController().signal

function terminals(t: TestContext) {
  const root = tempDir(t, 'pcc-project-')
  const asked: Named[] = []
  const all = new Terminals({
    root,
    env: bareEnv(root),
    guard: openGuard(),
    isolation: 'marker',
    asking: {
      may: async call => {
        asked.push(call)
        if (String(call.input['command']).includes('forbidden')) throw new Error('not on my watch')
      },
    },
  })
  t.after(() => all.close())
  return { root, all, asked }
}

test('a command runs in the project after it was judged as it runs, and its output and end are told', async t => {
  const { root, all, asked } = terminals(t)
  const given = {
    command: 'sh',
    args: ['-c', 'echo "$GREETING $(pwd)"; exit 3'],
    env: [{ name: 'GREETING', value: 'hi you' }],
  }
  const terminal = await all.create(given, SIGNAL)
  assert.deepEqual(await all.waitForExit(terminal, SIGNAL), { exitCode: 3, signal: null })
  const { output, truncated, exitStatus } = all.output(terminal)
  assert.deepEqual([output, truncated, exitStatus], [`hi you ${root}\n`, false, { exitCode: 3, signal: null }])
  assert.deepEqual(asked, [
    { tool: 'Bash', input: { command: `GREETING='hi you' sh -c 'echo "$GREETING $(pwd)"; exit 3'` } },
  ])
  await all.release(terminal)
  assert.throws(() => all.output(terminal), { code: -32002 })
})

test('a refused command does not start', async t => {
  const { all } = terminals(t)
  await assert.rejects(all.create({ command: 'touch forbidden' }, SIGNAL), /not on my watch/)
})

test('a folder outside, and variables that would run something else, are refused without a question', async t => {
  const { all, asked } = terminals(t)
  await assert.rejects(all.create({ command: 'ls', cwd: '/' }, SIGNAL), { code: -32001 })
  for (const name of ['LD_PRELOAD', 'BASH_ENV', 'PATH', 'NODE_OPTIONS', 'PCC_SESSION_MARK'])
    await assert.rejects(all.create({ command: 'ls', env: [{ name, value: 'x' }] }, SIGNAL), { code: -32001 }, name)
  await assert.rejects(all.create({ command: '' }, SIGNAL), { code: -32602 })
  assert.deepEqual(asked, [])
})

test('of much output the latest is kept, and no more than that', async t => {
  const { all } = terminals(t)
  const terminal = await all.create({ command: 'seq 1 200000', outputByteLimit: 100 }, SIGNAL)
  await all.waitForExit(terminal, SIGNAL)
  const { output, truncated } = all.output(terminal)
  assert.equal(truncated, true)
  assert.ok(output.length <= 100 && output.endsWith('199999\n200000\n'))
})

test('a kill ends all that a command started, and the terminal can still be read', async t => {
  const { all } = terminals(t)
  const terminal = await all.create({ command: 'echo begun; sleep 300 & sleep 300' }, SIGNAL)
  await until(() => all.output(terminal).output === 'begun\n')
  await all.kill(terminal)
  const { signal } = await all.waitForExit(terminal, SIGNAL)
  assert.equal(signal, 'SIGKILL')
  assert.equal(all.output(terminal).output, 'begun\n')
})

test('there is an end to the number of terminals', async t => {
  const { all } = terminals(t)
  for (let at = 0; at < 32; at++) await all.create({ command: 'true' }, SIGNAL)
  await assert.rejects(all.create({ command: 'true' }, SIGNAL), /32 terminals already/)
})
