import assert from 'node:assert/strict'
import { test } from 'node:test'
import { STANDARD_AGENT_ENV } from '../../src/domain/agent-env.ts'
import { AGENT_DEFINITIONS, AGENTS } from '../../src/domain/agents/agent-registry.ts'
import { accountLabel, environmentFor, isVendorVariable } from '../../src/domain/vendors.ts'

const env = {
  HOME: '/home/me',
  HTTPS_PROXY: 'http://proxy',
  ANTHROPIC_API_KEY: 'a',
  ANTHROPIC_BASE_URL: 'http://a',
  CLAUDE_CODE_OAUTH_TOKEN: 'c',
  GEMINI_API_KEY: 'g',
  OPENAI_API_KEY: 'o',
  MY_TOKEN: 'm',
  AWS_PROFILE: 'w',
}
const namesFor = (kind: string, configured: readonly string[]) =>
  Object.keys(environmentFor(kind, env, configured)).filter(name => name !== 'HOME')

const OTHER_VENDORS = AGENT_DEFINITIONS.filter(
  ({ vendor }) => vendor.tag !== AGENTS.claude.vendor.tag && !vendor.isAny,
).map(({ kind }) => kind)

for (const configured of [
  ['ANTHROPIC_API_KEY', 'CLAUDE_CODE_OAUTH_TOKEN'],
  ['ANTHROPIC_API*', 'CLAUDE_CODE_O*'],
  ['A*', 'CLAUDE*'],
  STANDARD_AGENT_ENV,
]) {
  test(`Claude's key goes to no other vendor's agent, however agents.env names it: ${configured[0]}`, () => {
    for (const kind of [...OTHER_VENDORS, 'custom', 'nobody'])
      assert.deepEqual(
        namesFor(kind, configured).filter(name => /^(ANTHROPIC|CLAUDE)/.test(name)),
        [],
      )
    assert.ok(namesFor('claude', configured).includes('ANTHROPIC_API_KEY'))
  })
}

test('variables that a person added, network variables and those of the vendor are passed on', () => {
  const configured = [...STANDARD_AGENT_ENV, 'MY_TOKEN', 'AWS_PROFILE']
  assert.deepEqual(namesFor('gemini', configured), ['HTTPS_PROXY', 'GEMINI_API_KEY', 'MY_TOKEN', 'AWS_PROFILE'])
  assert.deepEqual(namesFor('custom', ['MY_TOKEN']), ['MY_TOKEN'])
})

test('opencode calls the vendor it is configured for, and gets the keys of all vendors it knows', () => {
  assert.deepEqual(namesFor('opencode', STANDARD_AGENT_ENV), [
    'HTTPS_PROXY',
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_BASE_URL',
    'GEMINI_API_KEY',
    'OPENAI_API_KEY',
  ])
})

test('Copilot CLI gets its own variables, and none that would let it act unasked', () => {
  const own = { COPILOT_MODEL: 'm', COPILOT_PROVIDER_API_KEY: 'k', COPILOT_ALLOW_ALL: 'true', GH_TOKEN: 'g' }
  const given = environmentFor('copilot', { ...env, ...own }, STANDARD_AGENT_ENV)
  assert.deepEqual(
    Object.keys(given).filter(name => /^(COPILOT|GH_)/.test(name)),
    ['COPILOT_MODEL', 'COPILOT_PROVIDER_API_KEY'],
  )
  assert.equal(accountLabel('copilot', { COPILOT_GITHUB_TOKEN: 't' }), 'copilot · api.githubcopilot.com · GitHub token')
})

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

test('the name never contains a secret, wherever it is', () => {
  const label = accountLabel('claude', {
    ANTHROPIC_AUTH_TOKEN: 'hush-token',
    ANTHROPIC_BASE_URL: 'https://user:hush@gateway.example/hush?key=hush',
  })
  assert.equal(label, 'claude · gateway.example · bearer token')
  assert.equal(accountLabel('claude', { ANTHROPIC_BASE_URL: 'hush' }).includes('hush'), false)
})

test('a variable of an agent or its vendor is recognised by its first word', () => {
  for (const name of [
    'ANTHROPIC_API_KEY',
    'CLAUDE_CONFIG_DIR',
    'CODEX_HOME',
    'openai_api_key',
    'OPENCODE_API_KEY',
    'GEMINI',
  ])
    assert.ok(isVendorVariable(name), name)
  for (const name of ['CLAUDECODE', 'MY_OPENAI_KEY', 'GEMINIS', 'PATH']) assert.ok(!isVendorVariable(name), name)
})
