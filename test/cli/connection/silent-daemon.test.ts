import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { AppError } from '../../../src/base/errors.ts'
import { checkDaemon } from '../../../src/cli/commands/doctor-examine.ts'
import { findClient } from '../../../src/cli/connection/client.ts'
import { rawConnection } from '../../../src/cli/connection/raw-connection.ts'
import { takeLock } from '../../../src/daemon/lock.ts'
import { tempDir } from '../../support/world.ts'

test('a daemon that was stopped is told with its number and what helps, and nobody waits for ever', async t => {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  for (const dir of [paths.run, paths.data]) mkdirSync(dir, { recursive: true })
  writeFileSync(paths.tokenFile, 'token')
  await using _lock = await takeLock(paths, 'boot-1')
  // As a process that got SIGSTOP: the kernel takes the connection, and nobody ever reads from it.
  const server = createServer(connection => t.after(() => connection.destroy())).listen(paths.socket)
  t.after(() => server.close())
  const silent = await findClient(paths, { timeoutMs: 50 }).catch((error: unknown) => error)
  assert.ok(silent instanceof AppError)
  assert.equal(silent.code, 'daemon_silent')
  assert.match(silent.next, new RegExp(`kill -CONT ${process.pid}`))
  const start = rawConnection(paths, { quiet: true, timeoutMs: 50 }).request('POST', '/sessions', {})
  await assert.rejects(
    start,
    { code: 'daemon_silent' },
    'nor does pcc start, which asks without asking for health first',
  )
  const patient = { paths, env: {}, now: Date.now(), config: undefined, client: undefined, silent }
  const [first] = await checkDaemon(patient)
  assert.deepEqual([first?.level, first?.mend], ['problem', silent.next])
})
