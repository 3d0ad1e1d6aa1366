import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeptDaemon } from '../../scripts/chaos/fixture/kept-daemon.ts'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { bareEnv, COMPILED, tempDir } from '../support/world.ts'

test('a caller that has waited in vain for a message of a daemon can wait again', async t => {
  const env = { ...bareEnv(tempDir(t)), ...COMPILED }
  const kept = new KeptDaemon({ paths: appPathsFor({ env }), env, parent: false, crashesIn: -1, boots: [] })
  t.after(() => kept.kill('SIGKILL'))
  assert.ok('ready' in ((await kept.firstLine(t.signal)) ?? {}))
  assert.equal(await kept.firstLine(AbortSignal.timeout(1)), undefined)
  assert.equal(await kept.firstLine(AbortSignal.timeout(1)), undefined)
})
