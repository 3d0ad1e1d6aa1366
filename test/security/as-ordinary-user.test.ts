import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bareEnv } from '../support/world.ts'

/** A user without a name, a home or any rights. */
const NOBODY = { uid: 54_321, gid: 54_321 }
const FILES = ['self-approval.test.ts', '../base/process/peer.test.ts'].map(name =>
  fileURLToPath(new URL(name, import.meta.url)),
)

/** Root has rights that hide faults, and other users have none of them: what holds must hold for both. */
const SKIP =
  process.getuid?.() !== 0
    ? 'the tests run as an ordinary user already'
    : spawnSync('/usr/bin/head', ['-c', '1', ...FILES, process.execPath], NOBODY).status !== 0 &&
      'another user cannot read this checkout'

test('what is promised about who speaks holds for an ordinary user too', { skip: SKIP }, async t => {
  // Not below the folder of this test run, which nobody else may enter.
  const home = mkdtempSync('/tmp/pcc-user-')
  t.after(() => rmSync(home, { recursive: true, force: true }))
  chownSync(home, NOBODY.uid, NOBODY.gid)
  const env = { ...bareEnv(home), TMPDIR: home }
  const child = spawn(process.execPath, ['--test', ...FILES], { ...NOBODY, env, cwd: '/' })
  const [said] = await Promise.all([text(child.stdout), once(child, 'exit')])
  assert.equal(child.exitCode, 0, said)
})
