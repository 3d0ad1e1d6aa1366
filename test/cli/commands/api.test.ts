import assert from 'node:assert/strict'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { keyLines } from '../../../src/cli/commands/api.ts'
import { auditLines } from '../../../src/cli/commands/audit.ts'
import { pccFor } from '../pcc.ts'
import { NOON, plain } from '../render/sample.ts'

test('a key is made, listed without its secret, rotated and revoked, and the audit log says who did it', async t => {
  const pcc = pccFor(t)
  const run = (...words: string[]) => pcc.run(words)
  const project = join(pcc.home, 'shop')
  mkdirSync(project)
  const made = await run(
    'api',
    'keys',
    'create',
    '--scope',
    'work',
    '--name',
    'ci',
    '--project',
    project,
    '--expires',
    '30d',
  )
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /^pcc_[0-9a-f]{6}_[\w-]{43}\n$/, 'the secret alone')
  assert.match(made.stderr, new RegExp(`Only for ${realpathSync(project)}\\.`))
  assert.match(made.stderr, /pcc api keys revoke ci$/m)
  const list = await run('api', 'keys', 'list', '--json')
  const [key] = JSON.parse(list.stdout).keys
  assert.deepEqual([key.name, key.scope, key.project, key.state], ['ci', 'work', realpathSync(project), 'valid'])
  assert.ok(Math.abs(key.expires_at - Date.now() - 30 * 86_400_000) < 60_000)
  assert.ok(!list.stdout.includes(made.stdout.trim()))
  const rotated = await run('api', 'keys', 'rotate', 'ci')
  assert.notEqual(rotated.stdout, made.stdout)
  assert.match((await run('api', 'keys', 'revoke', 'ci')).stdout, /^Revoked: ci/)
  const audit = (await run('audit')).stdout.trim().split('\n')
  assert.deepEqual(
    audit.map(line => line.replace(/^.*?you +socket +/, '')),
    ['POST /api-keys', 'POST /api-keys/:ref/rotate  ref=ci', 'POST /api-keys/:ref/revoke  ref=ci'],
  )
  for (const wrong of [
    ['--scope', 'root'],
    ['--scope', 'read', '--expires', 'soon'],
    ['--scope', 'read', '--name', 'you'],
    [],
  ])
    assert.equal((await run('api', 'keys', 'create', ...wrong)).code, 2, wrong.join(' '))
})

test('the table of keys says what each is for, and that a revoked one is worth nothing', () => {
  const key = {
    id: 'k-000001',
    name: 'ci',
    scope: 'work',
    project: '/srv/shop',
    system: 'build',
    created_at: NOON,
  } as const
  const lines = keyLines(
    [{ ...key, expires_at: null, revoked_at: NOON, last_used_at: NOON - 60_000, state: 'revoked' }],
    { terminal: plain(160) },
    NOON,
  ).join('\n')
  for (const part of ['k-000001', 'ci', 'work', '/srv/shop, on build', 'never', '1m ago', 'revoked'])
    assert.ok(lines.includes(part), `${part} in ${lines}`)
})

test('an entry of the audit log is one line, whatever a path contained', () => {
  const entry = { id: 1, time: NOON, caller: 'ci', via: 'key', scope: 'work', request_id: 'r' } as const
  const lines = auditLines([
    { ...entry, action: 'POST /tasks/:id', target: 'id=a\n2026 you socket POST /x\u001b[2J', failed: 404 },
    { ...entry, caller: 'monitor', action: 'POST /tasks', target: '', failed: null },
  ])
  assert.equal(lines.length, 2)
  assert.match(
    lines[0] ?? '',
    /ci {7}key {5}POST \/tasks\/:id {2}id=a␊2026 you socket POST \/x␛\[2J {2}refused with 404$/,
  )
  assert.match(lines[1] ?? '', /monitor {2}key {5}POST \/tasks$/)
})
