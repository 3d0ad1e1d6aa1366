import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { readDiskReport } from '../../../src/daemon/disk.ts'
import { takeLock } from '../../../src/daemon/lock.ts'
import { makeDirectories } from '../../../src/daemon/startup.ts'
import { fullDiskEnv } from '../../support/full-disk.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { launch, startDaemon } from '../daemon-process.ts'

const NOBODY = 65534

/** A daemon that loads all it needs and then becomes a user who may not write to the home; root would ignore the file modes. */
async function startWithoutRights(t: TestContext, home: string) {
  const src = join(import.meta.dirname, '../../../src')
  const program = `
    const { runDaemon } = await import(${JSON.stringify(join(src, 'daemon/main.ts'))})
    const { appPathsFor } = await import(${JSON.stringify(join(src, 'base/app-paths.ts'))})
    if (process.getuid() === 0) { process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY}) }
    process.exitCode = await runDaemon({ paths: appPathsFor({ env: process.env }), env: process.env })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...bareEnv(home), PCC_HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return {
    code: child.exitCode,
    error: (JSON.parse(line) as { error: { code: string; message: string; next: string } }).error,
  }
}

test('a home that cannot be written to is refused in clear words, whether it is there already or not', async t => {
  const root = tempDir(t)
  const there = join(root, 'there')
  const { run, logs, data } = appPathsFor({ env: { PCC_HOME: there } })
  for (const dir of [run, logs, data]) mkdirSync(dir, { recursive: true })
  for (const dir of [run, logs, data, there, root]) chmodSync(dir, 0o555)
  using _writable = {
    [Symbol.dispose]() {
      for (const dir of [root, there, data, logs, run]) chmodSync(dir, 0o755)
    },
  }
  for (const home of [there, join(root, 'not-there')]) {
    const { code, error } = await startWithoutRights(t, home)
    assert.equal(code, 1)
    assert.equal(error.code, 'data_directory_unusable')
    assert.match(error.message, /cannot be used: you may not write there/)
    assert.match(error.next, /--data-dir/)
  }
})

test('a place in which no folder can be made is refused, and not tried for ever', () => {
  const paths = appPathsFor({ env: { PCC_HOME: '/proc/pcc-none/home' } })
  assert.throws(() => makeDirectories(paths), /\/proc\/pcc-none\/home cannot be used: /)
})

test('on a full disk the daemon says that and leaves, at the lock and at the store; with room it starts', async t => {
  const home = tempDir(t)
  const full = join(home, 'full')
  const env = fullDiskEnv(full)
  writeFileSync(full, '')
  const refused = async (file: RegExp) => {
    const { line, ended } = await launch(t, { home, env })
    assert.ok('error' in line)
    assert.equal(line.error.code, 'store_unusable')
    assert.match(line.error.message, /the disk is full/)
    assert.match(line.error.message, file)
    assert.match(line.error.next, /Free disk space/)
    assert.equal(await ended, 1)
  }
  await refused(/lock\.db/)
  const paths = appPathsFor({ env: { PCC_HOME: join(home, 'pcc') } })
  const lock = await takeLock(paths, 'boot-1')
  lock.release()
  await refused(/perpetualcc\.db/)
  rmSync(full)
  const daemon = await startDaemon(t, { home, env })
  assert.equal((await daemon.call('GET', '/health')).body.status, 'ok')
})

test('a directory says whether it is full; one that is not there says nothing', t => {
  const dir = tempDir(t)
  assert.equal(readDiskReport(dir, 0).state, 'ok')
  const { state, reason } = readDiskReport(dir, 1e12)
  assert.equal(state, 'full')
  assert.match(reason, /only \d+ MB are free in .*data\.min_free_mb/)
  assert.equal(readDiskReport(join(dirname(dir), 'no-such-directory'), 1).state, 'ok')
})
