import assert from 'node:assert/strict'
import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withFileLock } from '../../src/base/files.ts'
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
