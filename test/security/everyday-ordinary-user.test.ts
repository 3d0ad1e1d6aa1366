import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAsOrdinaryUser } from './ordinary-user.ts'

test('an ordinary user does not notice the sandbox in everyday work either', { timeout: 580_000 }, async t => {
  const again = await testAsOrdinaryUser(t, 'test/security/everyday-commands.test.ts')
  if (!again) return t.diagnostic('this is an ordinary user')
  assert.equal(again.code, 0, again.output)
  for (const line of again.output.match(/^.*(not run, because|rows were run).*$/gm) ?? []) t.diagnostic(line)
})
