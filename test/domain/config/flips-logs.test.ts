import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { launch } from '../../daemon/daemon-process.ts'
import { tempDir } from '../../support/world.ts'

/** Starts and ends a daemon once over what its log already holds, and tells what the log is then. */
async function logAfter(t: TestContext, settings: string, { before = '', old = [] as string[] } = {}) {
  const home = tempDir(t)
  const logs = join(home, 'pcc', 'logs')
  mkdirSync(logs, { recursive: true })
  writeFileSync(join(home, 'pcc', 'config.toml'), settings)
  if (before) writeFileSync(join(logs, 'daemon.log'), before)
  for (const name of old) writeFileSync(join(logs, name), 'old\n')
  const { child, ended } = await launch(t, { home })
  child.kill('SIGTERM')
  assert.equal(await ended, 0)
  return { files: readdirSync(logs).sort(), text: readFileSync(join(logs, 'daemon.log'), 'utf8'), logs }
}

const before = 'x'.repeat(19_990)
const old = ['daemon.log.1', 'daemon.log.2']

test('without settings the log goes on where it was, and logs.level leaves out what is below it', async t => {
  const plain = await logAfter(t, '', { before })
  assert.match(plain.text, /daemon started/)
  assert.deepEqual(plain.files, ['daemon.log'])
  assert.doesNotMatch((await logAfter(t, 'logs.level = "error"\n')).text, /daemon started/)
})

test('logs.max_bytes puts the log aside when it would grow beyond it, and logs.keep is how many old ones stay', async t => {
  const all = await logAfter(t, 'logs.max_bytes = 20_000\n', { before, old })
  assert.deepEqual(all.files, ['daemon.log', 'daemon.log.1', 'daemon.log.2', 'daemon.log.3'])
  assert.equal(statSync(join(all.logs, 'daemon.log.1')).size, 19_990)
  const { address, lines } = await receiveSyslog(t)
  const two = await logAfter(t, `logs.max_bytes = 20_000\nlogs.keep = 2\nlogs.syslog = "${address}"\n`, { before, old })
  assert.deepEqual(two.files, ['daemon.log', 'daemon.log.1', 'daemon.log.2'])
  // logs.syslog: every line is sent there too, from the first to the last.
  assert.deepEqual(
    lines.map(line => /^<30>1 \S+ \S+ pcc-daemon \d+ - - (\{.*\})$/.exec(line)?.[1]),
    two.text.trimEnd().split('\n'),
  )
})

/** A receiver of syslog on a port of this machine. */
async function receiveSyslog(t: TestContext): Promise<{ address: string; lines: string[] }> {
  const lines: string[] = []
  const receiver = createSocket('udp4').on('message', message => lines.push(message.toString()))
  receiver.bind(0, '127.0.0.1')
  await once(receiver, 'listening')
  t.after(() => receiver.close())
  return { address: `udp://127.0.0.1:${receiver.address().port}`, lines }
}
