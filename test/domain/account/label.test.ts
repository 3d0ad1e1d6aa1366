import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountLabel } from '../../../src/domain/account/label.ts'

test('an account is named by its agent, host and kind of credential', () => {
  assert.equal(accountLabel('claude', { ANTHROPIC_API_KEY: 'sk-1' }), 'claude · api.anthropic.com · API key')
  assert.equal(
    accountLabel('claude', { CLAUDE_CODE_OAUTH_TOKEN: 't', ANTHROPIC_BASE_URL: 'http://127.0.0.1:8080/v1' }),
    'claude · 127.0.0.1:8080 · subscription token',
  )
  assert.equal(accountLabel('claude', { HOME: '/home/a' }), 'claude · api.anthropic.com · login in ~/.claude')
  assert.equal(
    accountLabel('claude', { HOME: '/home/a', CLAUDE_CONFIG_DIR: '/home/a/work', CLAUDE_CODE_USE_BEDROCK: '1' }),
    'claude · Bedrock · login in ~/work',
  )
})

test('no secret is part of the name, wherever it stands', () => {
  const label = accountLabel('claude', {
    ANTHROPIC_AUTH_TOKEN: 'hush-token',
    ANTHROPIC_BASE_URL: 'https://user:hush@gateway.example/hush?key=hush',
  })
  assert.equal(label, 'claude · gateway.example · bearer token')
  assert.equal(accountLabel('claude', { ANTHROPIC_BASE_URL: 'hush' }).includes('hush'), false)
})
