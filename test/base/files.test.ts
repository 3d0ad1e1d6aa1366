import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { whileLocked, withFileLock } from '../../src/base/files.ts'
import { tempDir } from '../support/world.ts'

const rights = (file: string) => statSync(file).mode & 0o777

test('a lock file can be opened by its owner alone, also one that was open to others before', t => {
  const file = join(tempDir(t), 'rules.lock')
  assert.equal(
    withFileLock(file, () => rights(file)),
    0o600,
  )
  chmodSync(file, 0o644)
  withFileLock(file, () => undefined)
  assert.equal(rights(file), 0o600)
})

test('a lock holds against other processes while somebody in the same process waits for it', async t => {
  const file = join(tempDir(t), 'rules.lock')
  const free = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const first = whileLocked(file, () => {
    held.resolve()
    return free.promise
  })
  await held.promise
  const second = whileLocked(file, async () => undefined)
  const script = `const lock = new (require('node:sqlite').DatabaseSync)(process.argv[1], { timeout: 0 })
    try { lock.exec('begin immediate'); console.log('got it') } catch { console.log('busy') }`
  assert.equal(execFileSync(process.execPath, ['-e', script, file], { encoding: 'utf8' }).trim(), 'busy')
  free.resolve()
  await Promise.all([first, second])
})
