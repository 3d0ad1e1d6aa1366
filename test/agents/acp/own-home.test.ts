import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findRecordedError, recordOf } from '../../../src/agents/acp/own-words.ts'
import { prepareCommand } from '../../../src/agents/acp/start-command.ts'
import { geminiAgent } from '../../../src/domain/agents/gemini.ts'
import type { OpenSession } from '../../../src/domain/session.ts'
import { tempDir } from '../../support/world.ts'

const SETTINGS = `{
  // a key, and an address with two slashes
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "general": { "maxAttempts": 7, "vimMode": true }, /* mine */
  "mcpServers": { "docs": { "url": "https://example.invalid/a" } }
}`

async function started(env: Record<string, string>, cwd = '/') {
  const open = { env, cwd, id: 's-1', settingSources: [] } as unknown as OpenSession
  const command = await prepareCommand(geminiAgent, { open, program: undefined })
  const home = command.env['GEMINI_CLI_HOME'] ?? assert.fail('Gemini CLI is told of a home')
  return { ...command, home, text: (name: string) => readFileSync(join(home, name), 'utf8') }
}

test('Gemini CLI gets the settings of the person with one try a request over them; those of the person stay as they are', async t => {
  const own = tempDir(t, 'pcc-home-')
  mkdirSync(join(own, '.gemini'))
  writeFileSync(join(own, '.gemini/settings.json'), SETTINGS)
  const { text, dispose } = await started({ HOME: own })
  assert.deepEqual(JSON.parse(text('.gemini/settings.json')), {
    security: { auth: { selectedType: 'gemini-api-key' } },
    general: { maxAttempts: 1, vimMode: true },
    mcpServers: { docs: { url: 'https://example.invalid/a' } },
  })
  await dispose()
  assert.equal(readFileSync(join(own, '.gemini/settings.json'), 'utf8'), SETTINGS)
})

test('a login that Gemini CLI renews or begins in a session, and what it keeps of a conversation, are the ones of the person', async t => {
  const own = tempDir(t, 'pcc-home-')
  mkdirSync(join(own, '.gemini'))
  writeFileSync(join(own, '.gemini/oauth_creds.json'), 'old')
  writeFileSync(join(own, '.gemini/GEMINI.md'), 'always in English')
  const { home, text, dispose } = await started({ HOME: '/nowhere', GEMINI_CLI_HOME: own })
  assert.equal(text('.gemini/GEMINI.md'), 'always in English')
  writeFileSync(join(home, '.gemini/oauth_creds.json'), 'renewed')
  writeFileSync(join(home, '.gemini/google_accounts.json'), 'begun')
  writeFileSync(join(home, '.gemini/tmp/chat.json'), 'said')
  await dispose()
  assert.equal(existsSync(home), false, 'nothing of it is left')
  const kept = ['oauth_creds.json', 'google_accounts.json', 'tmp/chat.json', 'GEMINI.md']
  assert.deepEqual(
    kept.map(name => readFileSync(join(own, '.gemini', name), 'utf8')),
    ['renewed', 'begun', 'said', 'always in English'],
  )
})

test('settings that cannot be understood are left to Gemini CLI, which says what is wrong with them', async t => {
  const own = tempDir(t, 'pcc-home-')
  mkdirSync(join(own, '.gemini'))
  writeFileSync(join(own, '.gemini/settings.json'), '{ "general": ')
  const { home, text, dispose } = await started({ HOME: own })
  assert.equal(text('.gemini/settings.json'), '{ "general": ')
  assert.ok(lstatSync(join(home, '.gemini/settings.json')).isSymbolicLink())
  await dispose()
})

test('pipes that an agent leaves in the place of .git, of settings and of its record are not waited for', async t => {
  const [own, cwd] = [tempDir(t, 'pcc-home-'), tempDir(t, 'pcc-project-')]
  mkdirSync(join(own, '.gemini'))
  for (const pipe of [join(cwd, '.git'), join(cwd, 'record')]) execFileSync('mkfifo', [pipe])
  const { dispose } = await started({ HOME: own }, cwd)
  await dispose()
  execFileSync('mkfifo', [join(own, '.gemini/settings.json')])
  await assert.rejects(started({ HOME: own }, cwd), /no ordinary file/)
  const found = findRecordedError(join(cwd, 'record'), 0)
  const data = { message: 'no quota', statusCode: 429 }
  const error = { type: 'session.error', timestamp: '2026-01-01T00:00:00Z', data }
  writeFileSync(join(cwd, 'new'), `${JSON.stringify(error)}\n`)
  renameSync(join(cwd, 'new'), join(cwd, 'record'))
  assert.equal((await found)?.code, 429)
})

test('an id of a conversation that could lead out of its folder names no record', () => {
  const record = '{home}/session-state/{session}/events.jsonl'
  const session = '0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0'
  assert.equal(recordOf(record, { home: '/h/$&', session }), `/h/$&/session-state/${session}/events.jsonl`)
  for (const said of ['../../.ssh', '..', '/etc', 'a/b', '', '.hidden', 'a\0b', '-x', 'a'.repeat(300)])
    assert.equal(recordOf(record, { home: '/h', session: said }), undefined, said)
})
