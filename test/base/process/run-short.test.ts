import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openForkServer } from '../../../src/base/process/fork-server.ts'
import { brandOf, HELPER_MARKER } from '../../../src/base/process/marker.ts'
import {
  problemOf,
  runInThisProcess,
  runShort,
  runShortSync,
  type ShortCommand,
  type ShortCommandRunner,
  setShortRunner,
} from '../../../src/base/process/run-short.ts'
import { bareEnv, tempDir } from '../../support/world.ts'

const shell = (script: string, more: Partial<ShortCommand> = {}): ShortCommand => ({
  command: 'sh',
  args: ['-c', script],
  cwd: '/',
  env: { PATH: '/usr/bin:/bin' },
  timeoutMs: 20_000,
  maxBytes: 1_000_000,
  ...more,
})

/** The result of a program that ended with this code. */
const ended = (code: number, stdout: string, stderr = '') => ({
  ...{ code, signal: null, stdout, stderr },
  ...{ timedOut: false, truncated: false },
})

const WAYS: Record<string, (t: TestContext) => ShortCommandRunner> = {
  'a child of its own': () => runInThisProcess,
  'the small process': t => {
    const forks = openForkServer()
    t.after(() => forks[Symbol.dispose]())
    return forks.run
  },
}

for (const [way, open] of Object.entries(WAYS)) {
  test(`${way} runs a program in its directory, with its environment and input, and tells all it says`, async t => {
    const run = open(t)
    const cwd = tempDir(t)
    const said = await run(
      shell('pwd; echo $A; cat; echo wrong >&2; exit 3', { cwd, env: { PATH: '/bin', A: 'ä' }, input: 'in' }),
    )
    assert.deepEqual(said, ended(3, `${cwd}\nä\nin`, 'wrong\n'))
  })

  test(`${way} cuts off what takes too long, says too much, is called off, or is not there`, async t => {
    const run = open(t)
    const late = await run(shell('sleep 60 & sleep 60', { timeoutMs: 50 }))
    assert.deepEqual([late.code, late.signal, late.timedOut], [null, 'SIGKILL', true])
    assert.equal(late.why, 'it took longer than 0 s')
    const pipe = join(tempDir(t), 'pipe')
    execFileSync('mkfifo', [pipe])
    const held = await run(shell(`setsid cat ${pipe} & sleep 60`, { timeoutMs: 1000 }))
    assert.equal(held.why, 'it took longer than 1 s', 'one that has left the group holds the streams for ever')
    closeSync(openSync(pipe, 'r+')) // and goes now; opened to be written only, it would wait for one that never came
    const loud = await run(shell('while :; do echo 0123456789; done', { maxBytes: 1000 }))
    assert.deepEqual([loud.code, loud.why, loud.stdout], [null, 'it said more than 1000 bytes', ''])
    assert.deepEqual([loud.truncated, loud.timedOut], [true, false])
    const control = new AbortController()
    const off = run(shell('sleep 60'), control.signal)
    control.abort()
    assert.equal((await off).why, 'it was called off')
    assert.equal((await run(shell('true'), control.signal)).why, 'it was called off')
    assert.match((await run(shell('', { command: 'no-such-program' }))).why ?? '', /ENOENT/)
    const killed = await run(shell('echo before; kill -TERM $$'))
    assert.deepEqual([killed.stdout, killed.signal, killed.why], ['before\n', 'SIGTERM', 'it was killed by SIGTERM'])
    assert.match((await run(shell('', { args: ['-c', 'a\0b'] }))).why ?? '', /null bytes/)
  })

  test(`${way} runs many at once, and mixes up none`, async t => {
    const run = open(t)
    const numbers = Array.from({ length: 30 }, (_, at) => at)
    const told = await Promise.all(numbers.map(at => run(shell(`echo ${at}`))))
    assert.deepEqual(
      told.map(({ stdout }) => stdout.trim()),
      numbers.map(String),
    )
  })
}

test('programs that ran when the small process died are reported as cut off, and the next one runs in a new process', async () => {
  using forks = openForkServer()
  const cut = forks.run(shell('sleep 2'))
  const first = forks.pid
  assert.ok(first)
  process.kill(first, 'SIGKILL')
  assert.equal((await cut).code, null)
  assert.equal((await cut).why, 'the process that had started it is gone')
  assert.equal((await forks.run(shell('echo again'))).stdout, 'again\n')
  assert.notEqual(forks.pid, first)
})

test('the small process is not started for a program of which few run; while it is there, it runs them too', async () => {
  using forks = openForkServer()
  const parent = async () => Number((await forks.run(shell('echo $PPID', { seldom: true }))).stdout)
  assert.equal(await parent(), process.pid)
  assert.equal(forks.pid, undefined)
  await forks.run(shell('true'))
  assert.ok(forks.pid)
  assert.equal(await parent(), forks.pid)
})

test('a small process that hangs is killed, and nobody waits for it', async () => {
  using forks = openForkServer({ marginMs: 100 })
  await forks.run(shell('true'))
  const { pid } = forks
  assert.ok(pid)
  process.kill(pid, 'SIGSTOP')
  assert.equal((await forks.run(shell('true', { timeoutMs: 50 }))).why, 'the process that had started it is gone')
  assert.equal((await forks.run(shell('echo again'))).stdout, 'again\n')
})

test('the small process exits when it is idle for a while, and when it is disposed', async () => {
  const forks = openForkServer({ keepMs: 10 })
  await forks.run(shell('true'))
  const { pid } = forks
  assert.ok(pid)
  await gone(pid)
  assert.equal(forks.pid, undefined)
  const other = openForkServer()
  const cut = other.run(shell('sleep 0.2'))
  const { pid: second } = other
  assert.ok(second)
  other[Symbol.dispose]()
  assert.equal((await cut).code, null)
  await gone(second)
})

test('the small process exits when its owner is killed', async t => {
  const owner = spawn(process.execPath, [join(import.meta.dirname, 'owner.ts')], {
    env: bareEnv(tempDir(t)),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(owner.stdout), 'line')) as [string]
  owner.kill('SIGKILL')
  await once(owner, 'exit')
  await gone(Number(line))
})

test('another runner runs short programs until it is disposed', async () => {
  const asked: string[] = []
  {
    using _lent = setShortRunner(async ({ command }) => {
      asked.push(command)
      return ended(0, 'lent')
    })
    assert.equal((await runShort(shell('echo own'))).stdout, 'lent')
  }
  assert.equal((await runShort(shell('echo own'))).stdout, 'own\n')
  assert.deepEqual(asked, ['sh'])
})

test('a program that is waited for without anything else happening does not speak for a person', () => {
  const { stdout } = runShortSync(shell('grep "file locks" /proc/self/limits'))
  assert.match(stdout, new RegExp(`\\b${brandOf(HELPER_MARKER)}\\b`))
})

test('a program that is waited for without anything else happening has the same ends', async t => {
  const cwd = tempDir(t)
  const env = { PATH: '/bin', A: 'ä' }
  process.env['PCC_OF_THE_TEST'] = 'leaked'
  t.after(() => delete process.env['PCC_OF_THE_TEST'])
  const said = runShortSync(
    shell('pwd; echo $A$PCC_OF_THE_TEST; cat; echo wrong >&2; exit 3', { cwd, env, input: 'in' }),
  )
  assert.deepEqual(said, ended(3, `${cwd}\nä\nin`, 'wrong\n'))
  const pidFile = join(cwd, 'pid')
  const late = runShortSync(shell(`sleep 60 & echo $! >${pidFile}; sleep 60`, { timeoutMs: 500 }))
  assert.deepEqual([late.code, late.timedOut, late.why], [null, true, 'it took longer than 1 s'])
  await gone(Number(readFileSync(pidFile, 'utf8'))) // what it started goes with it
  const loud = runShortSync(shell('while :; do echo 0123456789; done', { maxBytes: 1000 }))
  assert.deepEqual([loud.code, loud.truncated, loud.stdout], [null, true, ''])
  assert.match(runShortSync(shell('', { command: 'no-such-program' })).why ?? '', /ENOENT/)
  assert.match(runShortSync(shell('', { args: ['-c', 'a\0b'] })).why ?? '', /null bytes/)
  assert.equal(runShortSync(shell('kill -TERM $$')).signal, 'SIGTERM')
})

test('what went wrong with a program is told in words', () => {
  const words = ['exit 0', 'exit 4', 'kill -TERM $$'].map(script => problemOf(runShortSync(shell(script))))
  assert.deepEqual(words, [undefined, 'it ended with exit code 4', 'it was killed by SIGTERM'])
})

/** Resolves when the process no longer exists; the test's own time limit ends the wait. */
async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await sleep(10)
  }
}
