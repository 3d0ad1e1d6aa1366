import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redactValues } from '../../../../src/base/redact.ts'
import type { DiffChange } from '../../../../src/workspace/verify/diff/change.ts'
import { judgeChange } from '../../../../src/workspace/verify/diff/judge-change.ts'

/** Joined from two halves, so that no scanner reports this file. */
const KEYS = {
  aws: ['AKIA', 'Q7ZT3WLMN4PX5RDK'].join(''),
  github: ['ghp_', 'a8Kd02mXq7Lr5TzWc9Vb3Ny6Hf1Ju4Ep0GsQ'].join(''),
  anthropic: ['sk-', 'ant-api03-Zk3nV8qLw2Xc7Rb5Tm9Yd4Hf6Jg1'].join(''),
  stripe: ['sk_', 'live_4eC39HqLyjWDarjtT1zdp7dc'].join(''),
  gitlab: ['glpat-', 'x7Kq2Lm9ZtRb5Yd4Hf6J'].join(''),
  slack: ['xoxb-', '7384019265-Kq2Lm9ZtRb5Yd4'].join(''),
  'slack address': ['hooks.slack', '.com/services/T7Q4ZK2LM/B9XR5TW3N/k8Xq2Lm9ZtRb5Yd4Hf6Jg1Zk'].join(''),
  openai: ['sk-', 'proj-Zk3nV8qLw2Xc7Rb5Tm9Yd4Hf6Jg1pQs'].join(''),
  google: ['AIza', 'SyQ7ZT3WLMN4PX5RDKk8Xq2Lm9ZtRb5Yd4H'].join(''),
  npm: ['npm_', 'a8Kd02mXq7Lr5TzWc9Vb3Ny6Hf1Ju4Ep0GsQ'].join(''),
  pypi: ['pypi-', 'a8Kd02mXq7Lr5TzWc9Vb3Ny6Hf1Ju4Ep0GsQ7ZT3WLMN4PX5RDK'].join(''),
  sendgrid: ['SG.', 'a8Kd02mXq7Lr5TzWc9Vb3N.Hf1Ju4Ep0GsQ7ZT3WLMN4PX5RDKk8Xq'].join(''),
  digitalocean: ['dop_v1_', '7f3a9c1e5b2d8046'.repeat(4)].join(''),
  'hugging face': ['hf_', 'AkdXmqLrTzWcVbNyHfJuEpGsQZtWlMnPxR'].join(''),
  age: ['AGE-SECRET', '-KEY-1Q7ZT3WLMN4PX5RDKQ7ZT3WLMN4PX5RDKQ7ZT3WLMN4PX5RDKQ7Z'].join(''),
  key: ['-----BEGIN RSA ', 'PRIVATE KEY-----'].join(''),
  url: ['postgres://shop:', 'k8Xq2Lm9Zt@db.shop.internal/orders'].join(''),
}

function found(path: string, text: string) {
  const added = text.split('\n').map((line, index) => ({ line: index + 1, text: line }))
  const change: DiffChange = {
    files: [{ path, status: 'added', kind: 'text', newMode: '100644', after: text, added, removed: [] }],
    unread: [],
    unchanged: new Map(),
  }
  return judgeChange(change, { maxChangedLines: 0, forbiddenPaths: [], allow: [] }).filter(
    ({ code }) => code === 'diff.secret',
  )
}

for (const [name, value] of Object.entries(KEYS))
  test(`a ${name} that was added stands in the way, and is not shown`, () => {
    const [finding] = found('src/config.ts', `const a = 1\nconst b = "${value}"`)
    assert.equal(finding?.weight, 'block')
    assert.equal(finding?.line, 2)
    assert.ok(!finding?.text.includes(value.slice(6)), finding?.text)
  })

test('a key of a vendor that may not be committed is hidden where texts are stored', () => {
  const { key: _, url: __, ...tokens } = KEYS
  for (const [name, value] of Object.entries(tokens))
    assert.ok(!redactValues(`curl ${value}`, []).includes(value.slice(-12)), name)
})

test('a value that looks random counts where its name says secret', () => {
  assert.equal(found('src/a.py', 'API_KEY = "q8Zt2LmX9vRb4NcW"').length, 1)
  assert.equal(found('config/app.yaml', 'password: T7xq9LmZ2vRb!').length, 1)
  assert.equal(found('src/a.py', 'CACHE_KEY = "q8Zt2LmX9vRb4NcW"').length, 0)
})

test('names, examples and what comes from elsewhere are no secrets', () => {
  const harmless = [
    'const token = process.env.SERVICE_TOKEN',
    'password = config.get("password")',
    'api_key: ${API_KEY}',
    'secret = "changeme-changeme"',
    'token: your-token-goes-here',
    'const passwordField = "password-input-field"',
    `key = "${['AKIA', 'IOSFODNN7EXAMPLE'].join('')}"`,
    'authToken: <token>',
    'password = getpass.getpass()',
    'token_count = 123456789012',
    'const tokenizer = "sentencepiece-v2-model"',
    'DATABASE_URL=postgres://user:password@localhost:5432/db',
  ]
  for (const line of harmless) assert.deepEqual(found('src/a.ts', line), [], line)
})

test('a key of a test is told and does not stand in the way', () => {
  const [finding] = found('test/fixtures/login.json', `{ "key": "${KEYS.github}" }`)
  assert.equal(finding?.weight, 'note')
  assert.deepEqual(found('test/login.test.ts', 'const password = "q8Zt2LmX9vRb4NcW"'), [])
})

test('one file with many keys is told a few times', () => {
  assert.equal(found('src/a.ts', `${KEYS.aws}\n`.repeat(100)).length, 5)
})
