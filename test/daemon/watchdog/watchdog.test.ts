import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { silentLog } from '../../../src/base/log.ts'
import { openSystemd } from '../../../src/daemon/watchdog/systemd.ts'
import { bareEnv, tempDir } from '../../support/world.ts'

const WATCHDOG = fileURLToPath(new URL('../../../src/daemon/watchdog/watchdog.ts', import.meta.url))
const LIMIT_MS = 600

/** A process under a watchdog that misbehaves when it gets a line on standard input. */
async function watched(t: TestContext, deed: string) {
  const dir = tempDir(t)
  writeFileSync(join(dir, 'daemon.log'), 'the last line\n')
  const program = `
    const { startWatchdog } = await import(${JSON.stringify(WATCHDOG)})
    startWatchdog({ limitMs: ${LIMIT_MS}, logs: ${JSON.stringify(dir)}, live: () => 3, lost: console.error })
    process.stdin.on('data', async () => { ${deed} })
    console.log('up')`
  const args = ['--input-type=module', '-e', program]
  const child = spawn(process.execPath, args, { env: bareEnv(dir), stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  await once(lines, 'line')
  const diagnostics = () => globSync('stall-*.json', { cwd: dir }).map(file => readFileSync(join(dir, file), 'utf8'))
  return { child, ended, lines, diagnostics, dir }
}

test('a process whose event loop stands still is aborted, and a diagnostic says where it stood', async t => {
  const { child, ended, diagnostics, dir } = await watched(t, 'function endlessLoop() { for (;;) {} }; endlessLoop()')
  child.stdin.write('go\n')
  const [, signal] = await ended
  assert.equal(signal, 'SIGABRT')
  const [text, ...others] = diagnostics()
  assert.deepEqual(others, [])
  const page = JSON.parse(text ?? '')
  assert.match(page.stack[0], /endlessLoop/)
  assert.deepEqual([page.pid, page.sessions, page.log], [child.pid, 3, ['the last line']])
  assert.match(page.what, /stood still/)
  assert.ok(page.memory.rss_mb > 0, dir)
})

test('one that was stopped, or is busy with many short things, is left alone', async t => {
  const busy = `
    const end = performance.now() + ${4 * LIMIT_MS}
    while (performance.now() < end) {
      const slice = performance.now() + 20
      while (performance.now() < slice) {}
      await new Promise(resolve => setImmediate(resolve))
    }
    console.log('done')`
  const { child, lines, diagnostics } = await watched(t, busy)
  child.kill('SIGSTOP')
  await sleep(3 * LIMIT_MS)
  child.kill('SIGCONT')
  child.stdin.write('go\n')
  const [line] = await once(lines, 'line')
  assert.equal(line, 'done')
  assert.deepEqual(diagnostics(), [])
  assert.deepEqual([child.exitCode, child.signalCode], [null, null])
})

test('systemd is told that the daemon is ready, lives and stops, and nobody else is told anything', async t => {
  const { told, env } = fakeSystemd(t)
  {
    using systemd = openSystemd(env, silentLog)
    await systemd.ready()
    while (!/WATCHDOG=1\n.*WATCHDOG=1/.test(readFileSync(told, 'utf8'))) await sleep(10)
    await systemd.stopping()
  }
  const lines = readFileSync(told, 'utf8').trim().split('\n')
  assert.equal(lines[0], `@socket READY=1 MAINPID=${process.pid}`)
  assert.ok(lines.includes('@socket STOPPING=1'))

  // A second listener, because the last message to the first one may still be on its way.
  const quiet = fakeSystemd(t)
  for (const other of [
    { ...quiet.env, NOTIFY_SOCKET: undefined },
    { ...quiet.env, WATCHDOG_PID: '1' },
  ]) {
    using systemd = openSystemd(other, silentLog)
    await systemd.ready()
    await sleep(100)
  }
  assert.deepEqual(readFileSync(quiet.told, 'utf8').match(/WATCHDOG|READY/g), ['READY'])
})

test('a daemon that systemd gives 60 seconds reports every 30', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { told, env } = fakeSystemd(t)
  using systemd = openSystemd({ ...env, WATCHDOG_USEC: '60000000' }, silentLog)
  await systemd.ready()
  const beats = async (count: number) => {
    while ((readFileSync(told, 'utf8').match(/WATCHDOG=1/g) ?? []).length < count) await sleep(5)
    return (readFileSync(told, 'utf8').match(/WATCHDOG=1/g) ?? []).length
  }
  t.mock.timers.tick(29_999)
  await systemd.stopping()
  assert.equal(await beats(0), 0)
  t.mock.timers.tick(1)
  assert.equal(await beats(1), 1)
  t.mock.timers.tick(30_000)
  assert.equal(await beats(2), 2)
})

/** The messages are recorded in a file. */
function fakeSystemd(t: TestContext) {
  const dir = tempDir(t)
  const told = join(dir, 'told')
  writeFileSync(told, '')
  writeFileSync(join(dir, 'systemd-notify'), `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >>"${told}"\n`)
  chmodSync(join(dir, 'systemd-notify'), 0o755)
  const env = { PATH: `${dir}:/usr/bin:/bin`, NOTIFY_SOCKET: '@socket', WATCHDOG_USEC: '40000', SECRET_KEY: 'x' }
  return { told, env }
}
