import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { storeIn } from '../../scripts/chaos/history.ts'
import { violationsIn } from '../../scripts/chaos/invariants/all.ts'
import { tempDir } from '../support/world.ts'
import { aHistory } from './a-history.ts'

test('an unreadable store violates the invariant of the store, and does not end the run of rounds', t => {
  const file = join(tempDir(t), 'damaged.db')
  writeFileSync(file, 'SQLite format 3\0 and then nothing that makes sense')
  const violations = violationsIn({ ...aHistory(), ...storeIn(file) })
  const told = violations.filter(({ invariant }) => invariant === 'store-whole').map(({ text }) => text)
  assert.match(told.join(), /^it cannot be read: Error: file is not a database$/)
})
