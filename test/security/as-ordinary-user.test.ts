import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAsOrdinaryUser } from './ordinary-user.ts'

// Root has rights that hide faults, and other users have none of them: what holds must hold for both.
for (const file of ['test/security/self-approval.test.ts', 'test/base/process/peer.test.ts']) {
  test(`what is promised about who speaks holds for an ordinary user too: ${file}`, async t => {
    const run = await testAsOrdinaryUser(t, file)
    if (run === undefined) return t.diagnostic('this is an ordinary user')
    assert.equal(run.code, 0, run.output)
    assert.match(run.output, /pass [1-9]/)
  })
}
