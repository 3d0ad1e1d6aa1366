import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { AppError } from '../../../src/base/errors.ts'
import { checkDaemon } from '../../../src/cli/commands/doctor-examine.ts'
import { findClient, quickClient } from '../../../src/cli/connection/client.ts'
import { takeLock } from '../../../src/daemon/lock.ts'
import { tempDir } from '../../support/world.ts'

test('a daemon process that was stopped is reported with its process id and what to do, and nobody waits forever', async t => {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  for (const dir of [paths.run, paths.data]) mkdirSync(dir, { recursive: true })
  writeFileSync(paths.tokenFile, 'token')
  await using _lock = await takeLock(paths, 'boot-1')
  // Like a process after SIGSTOP: the kernel accepts the connection, and nobody ever reads from it.
  const server = createServer(connection => t.after(() => connection.destroy())).listen(paths.socket)
  t.after(() => server.close())
  const said = t.mock.method(process.stderr, 'write', () => true)
  const { isTTY } = process.stderr
  process.stderr.isTTY = true
  const silent = await findClient(paths, { timeoutMs: 50 }).catch((error: unknown) => error)
  process.stderr.isTTY = isTTY
  said.mock.restore()
  assert.deepEqual(
    said.mock.calls.map(({ arguments: [text] }) => text),
    ['The daemon has not answered yet; still waiting\n'],
    'nobody waits in silence',
  )
  assert.ok(silent instanceof AppError)
  assert.equal(silent.code, 'daemon_silent')
  assert.match(silent.next, new RegExp(`kill -CONT ${process.pid}`))
  const start = quickClient(paths, { env: {}, timeoutMs: 50 }).request('POST', '/sessions', {})
  await assert.rejects(
    start,
    { code: 'daemon_silent' },
    'pcc start does not wait forever either, although it does not check the health first',
  )
  const examined = {
    paths,
    env: {},
    now: Date.now(),
    deep: false,
    loaded: silent,
    config: undefined,
    client: undefined,
    silent,
  }
  const [first] = await checkDaemon(examined)
  assert.deepEqual([first?.level, first?.mend], ['problem', silent.next])
})
