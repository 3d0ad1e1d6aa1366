import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AcpTerminals } from '../../../src/agents/acp/terminals.ts'
import type { AcpNamedCall } from '../../../src/agents/acp/tool-names.ts'
import { openGuard } from '../../../src/base/process/guardian.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { until } from '../conformance/world.ts'

const SIGNAL = new AbortController().signal

function terminals(t: TestContext) {
  const root = tempDir(t, 'pcc-project-')
  const asked: AcpNamedCall[] = []
  const folders: (string | undefined)[] = []
  let meanwhile = () => {}
  const all = new AcpTerminals({
    root,
    env: bareEnv(root),
    guard: openGuard(),
    isolation: 'marker',
    approver: {
      approve: async (call, _, cwd) => {
        asked.push(call)
        folders.push(cwd)
        meanwhile()
        if (String(call.input['command']).includes('forbidden')) throw new Error('not on my watch')
      },
    },
  })
  t.after(() => all.close())
  const set = (what: () => void) => {
    meanwhile = what
  }
  return { root, all, asked, folders, meanwhile: set }
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

test('a name that is none of a variable, behind which a command could hide from whoever judges, is refused unasked', async t => {
  const { root, all, asked } = terminals(t)
  for (const name of ['true #', 'A=1 true #', 'A\n', 'A\ntrue #', '', '1A', 'A-B', 'A;true'])
    await assert.rejects(
      all.create({ command: 'touch ran', env: [{ name, value: 'x' }] }, SIGNAL),
      { code: -32001 },
      name,
    )
  assert.deepEqual([asked, readdirSync(root)], [[], []])
})

test('variables are judged with the line that they are for, quoted, and hold for all of it', async t => {
  const { all, asked } = terminals(t)
  const env = [{ name: 'A', value: "it's #; $(touch ran)" }]
  const terminal = await all.create({ command: 'true; printf %s "$A"', env }, SIGNAL)
  await all.waitForExit(terminal, SIGNAL)
  assert.equal(all.output(terminal).output, env[0]?.value)
  assert.deepEqual(
    asked.map(({ input }) => input['command']),
    [`export A='it'\\''s #; $(touch ran)'\ntrue; printf %s "$A"`],
  )
})

test('a line is run by the shell as which it is judged', async t => {
  const { root, all } = terminals(t)
  const terminal = await all.create({ command: 'echo &>/dev/null touch ran' }, SIGNAL)
  await all.waitForExit(terminal, SIGNAL)
  assert.deepEqual(readdirSync(root), [])
})

test('it is judged in the folder in which it runs', async t => {
  const { root, all, folders } = terminals(t)
  mkdirSync(join(root, 'sub'))
  await all.create({ command: 'true', cwd: join(root, 'sub') }, SIGNAL)
  assert.deepEqual(folders, [join(root, 'sub')])
})

test('a folder that was swapped for a link while it was decided is refused', async t => {
  const { root, all, meanwhile } = terminals(t)
  const sub = join(root, 'sub')
  mkdirSync(sub)
  meanwhile(() => {
    rmdirSync(sub)
    symlinkSync('/', sub)
  })
  await assert.rejects(all.create({ command: 'true', cwd: sub }, SIGNAL), { code: -32001 })
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
