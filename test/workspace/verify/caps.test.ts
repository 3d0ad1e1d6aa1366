import assert from 'node:assert/strict'
import { statfsSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { openGuard } from '../../../src/base/process/guardian.ts'
import type { Isolation } from '../../../src/base/process/isolation.ts'
import { findProcessesIn } from '../../../src/base/process/sweep.ts'
import { defaultValues, nestValues, type Values } from '../../../src/domain/config/settings.ts'
import { readCommandCaps } from '../../../src/workspace/command/command-caps.ts'
import { commandEnvironment, runCommand } from '../../../src/workspace/command/run-command.ts'
import { readGateSettings } from '../../../src/workspace/verify/gate-settings.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { runSetupCommand } from '../../../src/workspace/worktrees/dependencies.ts'
import { tempDir } from '../../support/world.ts'
import { openVerifyFixture } from './worktree-fixture.ts'

const guard = openGuard()
const PATH = process.env['PATH']

/** A bomb that can do no harm: it ends after 400 children, all asleep. Each child starts two more, and its parent goes away. */
const FORK_BOMB = `
  bomb() {
    [ "$1" -lt 1 ] && return
    (sleep 300 & bomb $(($1 - 1))) &
    (sleep 300 & bomb $(($1 - 1))) &
  }
  bomb 7; sleep 300`

/** Allocates 600 MB in all, and waits. */
const MEMORY_HOG = `node -e 'const kept = []; for (let n = 0; n < 12; n++) kept.push(Buffer.alloc(50e6, 1)); setInterval(() => kept, 1e6)'`

/** Writes 200 MB in all, and waits. */
const FILE_FILL = 'head -c 200000000 /dev/zero >filled; sleep 300'

function settings(changed: Partial<Values>) {
  return nestValues({ ...defaultValues(), ...changed })
}

function run(t: TestContext, command: string, changed: Partial<Values>, isolation: Isolation = 'auto') {
  const directory = tempDir(t)
  const env = commandEnvironment({ PATH, HOME: directory })
  const whole = { command, directory, env, timeoutMs: 120_000, signal: new AbortController().signal }
  return runCommand(whole, { guard, isolation, caps: readCommandCaps(settings(changed)) })
}

/** What a gate that runs this command finds. */
async function gate(t: TestContext, command: string, changed: Partial<Values>) {
  const work = await openVerifyFixture(t)
  work.write('b.txt', 'b\n')
  const gates = readGateSettings(settings({ 'gates.test': command, 'gates.profile': 'quick', ...changed }))
  const { status, findings } = await verify(work.request({ gates }), work.deps())
  assert.deepEqual(await findProcessesIn(work.worktree.directory), [], 'nothing is left')
  return { status, codes: findings.map(({ code }) => code), text: findings[0]?.text ?? '' }
}

for (const isolation of ['auto', 'marker'] as const) {
  test(`a fork bomb ends the command and nothing else (${isolation})`, async t => {
    const done = await run(t, FORK_BOMB, { 'gates.max_processes': 60 }, isolation)
    assert.deepEqual([done.end, done.cap?.cap], ['capped', 'processes'])
    assert.match(done.cap?.text ?? '', /^had \d+ processes at once with everything that it started; 60 are allowed/)
  })
}

test('processes that leave the tree and the process group count as well', async t => {
  const leave = 'for n in $(seq 80); do setsid sh -c "sleep 300 & exit" & done; wait; sleep 300'
  const done = await run(t, leave, { 'gates.max_processes': 60 }, 'marker')
  assert.equal(done.cap?.cap, 'processes')
})

test('a process with very many threads counts as a bomb', async t => {
  const threads =
    'import threading, time\nfor n in range(200): threading.Thread(target=time.sleep, args=(300,), daemon=True).start()\ntime.sleep(300)'
  const done = await run(t, `exec python3 -c '${threads}'`, { 'gates.max_processes': 10 })
  assert.match(done.cap?.text ?? '', /^had \d+ threads in \d processes at once .*gates.max_processes/)
})

test('gates.max_memory_mb: a gate that uses more memory fails, and says how much it used', async t => {
  const { status, codes, text } = await gate(t, MEMORY_HOG, { 'gates.max_memory_mb': 200 })
  assert.deepEqual([status, codes], ['failed', ['test.capped']])
  assert.match(text, /was ended: it used \d+ MB of memory with everything that it started; 200 MB are allowed/)
  assert.match(text, /pcc config set gates.max_memory_mb 400/)
})

test('gates.max_processes: a gate with more processes fails', async t => {
  const { status, codes, text } = await gate(t, FORK_BOMB, { 'gates.max_processes': 60 })
  assert.deepEqual([status, codes], ['failed', ['test.capped']])
  assert.match(text, /60 are allowed \(gates.max_processes\). If it needs more: pcc config set gates.max_processes 120/)
})

test('gates.max_written_mb: a gate that fills the disk fails', async t => {
  const { status, codes, text } = await gate(t, FILE_FILL, { 'gates.max_written_mb': 50 })
  assert.deepEqual([status, codes], ['failed', ['test.capped', 'gate.made_files']])
  assert.match(text, /it wrote \d+ MB with everything that it started; 50 MB are allowed \(gates.max_written_mb\)/)
})

test('gates.max_output_mb: a gate that never stops printing fails', async t => {
  const { status, codes, text } = await gate(t, 'yes', { 'gates.max_output_mb': 2 })
  assert.deepEqual([status, codes], ['failed', ['test.capped']])
  assert.match(text, /it printed \d+ MB with everything that it started; 2 MB are allowed \(gates.max_output_mb\)/)
})

test('a file that is written over counts, although the system gives credit for what is cut off', async t => {
  const again = `head -c 100000000 /dev/zero >filled; ${FILE_FILL}`
  const done = await run(t, again, { 'gates.max_written_mb': 150 })
  assert.equal(done.cap?.cap, 'written')
})

test('what several short processes write counts together', async t => {
  const many = 'for n in 1 2 3 4 5 6 7 8; do head -c 10000000 /dev/zero >filled-$n; done; sleep 300'
  const done = await run(t, many, { 'gates.max_written_mb': 50 })
  assert.equal(done.cap?.cap, 'written')
})

test('data.min_free_mb: a command that uses up the disk is ended before it is full', async t => {
  const { bavail, bsize } = statfsSync(tempDir(t))
  const least = Math.floor((bavail * bsize) / 1_048_576) - 50
  // At most a gigabyte, in steps, because others use the disk too.
  const fill = 'for n in $(seq 20); do head -c 50000000 /dev/zero >filled-$n; sleep 0.1; done; sleep 300'
  const done = await run(t, fill, { 'data.min_free_mb': least })
  assert.equal(done.cap?.cap, 'disk')
  assert.match(done.cap?.text ?? '', /^wrote \d+ MB and left only .* must stay free \(data.min_free_mb\)/)
})

test('no file gets longer than all that may be written, and the reason is named', async t => {
  // An empty file of that length takes no space.
  const done = await run(t, 'truncate -s 5G long || kill -XFSZ $$', { 'gates.max_written_mb': 50 })
  assert.deepEqual([done.end, done.cap?.cap], ['capped', 'written'])
})

test('a command within its caps does not notice them', async t => {
  const done = await run(t, 'head -c 30000000 /dev/zero >filled; sleep 1; cat filled | wc -c; exit 3', {})
  assert.deepEqual([done.end, done.exit, done.output.trim()], ['exited', 3, '30000000'])
})

test('a set-up command meets the same caps, and its report names the cap', async t => {
  const directory = tempDir(t)
  const caps = readCommandCaps(settings({ 'gates.max_processes': 60 }))
  const { report, ok } = await runSetupCommand({
    command: FORK_BOMB,
    directory,
    env: { PATH },
    timeoutMs: 120_000,
    caps,
  })
  assert.equal(ok, false)
  assert.match(report, /had \d+ processes at once .* \(gates.max_processes\)/)
  assert.deepEqual(await findProcessesIn(directory), [])
})
