import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { bareEnv, COMPILED, tempDir } from '../../support/world.ts'

/** One of them gets the lowest free descriptor; a file that is open for a moment may have it first. */
const CLIENTS = 8

test('a daemon that fails after it was ready says so to nobody but standard error: descriptor 1 may be a client by then', async t => {
  const home = tempDir(t)
  const env = { ...bareEnv(home), PCC_HOME: join(home, 'pcc'), ...COMPILED }
  const script = join(import.meta.dirname, 'failing-daemon.ts')
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const words = text(child.stderr)
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  assert.deepEqual(JSON.parse(line), { ready: true, pid: child.pid })
  const clients = Array.from({ length: CLIENTS }, () => connect(appPathsFor({ env }).socket))
  await Promise.all(clients.map(client => once(client, 'connect')))
  // When this one is answered, the daemon has accepted all earlier ones, in order.
  const last = connect(appPathsFor({ env }).socket)
  last.write('GET / HTTP/1.1\r\nhost: pcc\r\n\r\n')
  await once(last, 'data')
  const heard = clients.map(client => text(client).catch(String))
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  last.destroy()
  const said = await words
  assert.match(said, /^descriptor 1 is a connection$/m)
  const raw = await Promise.all(heard)
  assert.deepEqual(
    raw,
    clients.map(() => ''),
  )
  assert.match(said, /it cannot leave/)
  assert.notEqual(code, 0)
})
