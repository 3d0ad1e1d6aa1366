import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { SOURCE_DAEMON_SCRIPT } from '../../support/program.ts'
import { tempDir } from '../../support/world.ts'
import { startDaemon } from '../daemon-process.ts'

test('what a killed daemon had compiled is there for the next one', async t => {
  const cache = tempDir(t)
  const daemon = await startDaemon(t, { script: SOURCE_DAEMON_SCRIPT, env: { NODE_COMPILE_CACHE: cache } })
  // The daemon answers only after everything that belongs to its start.
  assert.equal((await daemon.call('GET', '/health')).status, 200)
  daemon.child.kill('SIGKILL')
  await daemon.ended
  const kept = readdirSync(cache, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  assert.ok(kept.length > 300, `${kept.length} files were kept`)
})
