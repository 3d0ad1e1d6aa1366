import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountOf, formerAccounts } from '../../src/supervisor/start/agent/account.ts'

const of = (kind: string, env: Record<string, string> = {}) =>
  accountOf({ kind, name: kind }, { HOME: '/home/me', ...env })

test('two programs of the person’s own have two accounts, although both are scripts of one interpreter', () => {
  const own = (script: string) =>
    accountOf({ kind: 'custom', name: 'node', command: ['node', script] }, { HOME: '/home/me' })
  assert.equal(own('/a.mjs'), own('/a.mjs'))
  assert.notEqual(own('/a.mjs'), own('/b.mjs'))
})

test('opencode with the key of one vendor shares the account, and so the limit, of that vendor’s agents', () => {
  const claude = { ANTHROPIC_API_KEY: 'a' }
  assert.equal(of('opencode', claude), of('claude', claude))
  assert.equal(of('opencode', { OPENAI_API_KEY: 'o' }), of('codex', { OPENAI_API_KEY: 'o' }))
  const both = { ...claude, OPENAI_API_KEY: 'o' }
  assert.notEqual(of('opencode', both), of('claude', both), 'nobody knows which of two it uses')
})

test('what earlier versions called an account is known, and that of another is not among it', () => {
  const mine = { kind: 'custom', name: 'node', command: ['node', '/a.mjs'] }
  const env = { HOME: '/home/me' }
  assert.deepEqual(formerAccounts(mine, env), formerAccounts({ ...mine, command: ['node', '/b.mjs'] }, env))
  assert.equal(formerAccounts(mine, env).includes(accountOf(mine, env)), false)
  assert.notDeepEqual(formerAccounts(mine, { HOME: '/home/you' }), formerAccounts(mine, env))
  const claude = { kind: 'claude', name: 'claude' }
  assert.deepEqual(formerAccounts(claude, env), [accountOf(claude, env)], 'that of Claude Code has not changed')
})
