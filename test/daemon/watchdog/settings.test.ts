import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '../../support/world.ts'
import { startDaemon } from '../daemon-process.ts'

/** Makes the daemon's event loop hang on request. */
const STALL = `process.on('SIGUSR2', function standStill() { for (;;) {} })`

test('daemon.watchdog_seconds and data.min_free_mb: a daemon refuses new work on a full disk, and is ended when it stands still', async t => {
  const daemon = await startDaemon(t, {
    env: {
      PCC_DATA_MIN_FREE_MB: '1000000000000',
      PCC_DAEMON_WATCHDOG_SECONDS: '5',
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(STALL)}`,
    },
  })
  const refused = await daemon.call('POST', '/sessions', { body: { project: tempDir(t), task: 'x', env: {} } })
  assert.deepEqual([refused.status, refused.body.error.code], [507, 'disk_full'])
  assert.match(refused.body.error.message, /only \d+ MB are free/)
  const { body: health } = await daemon.call('GET', '/health')
  assert.equal(health.watchdog_seconds, 5)
  assert.match(health.disk, /only \d+ MB are free/)

  daemon.child.kill('SIGUSR2')
  await daemon.ended
  assert.equal(daemon.child.signalCode, 'SIGABRT')
  const [file] = globSync('stall-*.json', { cwd: daemon.paths.logs })
  const page = JSON.parse(readFileSync(join(daemon.paths.logs, file ?? ''), 'utf8'))
  assert.match(page.what, /stood still for 5 s/)
  assert.match(page.stack[0], /standStill/)
  assert.match(page.log.join('\n'), /daemon started/)
})
