import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openAuthenticator, requireScope } from '../../../src/daemon/api/authenticate.ts'
import { ApiKeys } from '../../../src/daemon/api/keys.ts'
import { openStore } from '../../../src/store/open.ts'
import { scriptedAgent } from '../../supervisor/session/scripted-agent.ts'
import { scriptedWorld } from '../../supervisor/session/scripted-world.ts'
import { tempDir } from '../../support/world.ts'

async function keysWorld(t: TestContext) {
  const time = { now: 1_000_000 }
  const clock = { now: () => time.now }
  const store = await openStore({ file: join(tempDir(t), 'pcc.db') })
  t.after(() => store.close())
  const keys = new ApiKeys({ store, clock, failed: assert.fail })
  const { authenticate } = openAuthenticator({ keys, verifyJwt: () => assert.fail(), system: 'here' })
  const as = async (authorization?: string) => authenticate({ headers: { ...(authorization && { authorization }) } })
  const connect = () => {
    const socket = new Socket()
    return async (secret: string) => authenticate({ headers: { authorization: `Bearer ${secret}` } }, socket)
  }
  return { time, store, keys, as, connect, bearer: (secret: string) => as(`Bearer ${secret}`) }
}

const code = (expected: string) => (error: unknown) => {
  assert.equal((error as { code?: string }).code, expected)
  return true
}

test('a key says who calls, what it may do, and for which project', async t => {
  const { keys, bearer, store } = await keysWorld(t)
  const { secret, key } = await keys.create({ name: 'ci', scope: 'work', project: '/srv/app' })
  assert.match(secret, /^pcc_[0-9a-f]{6}_[\w-]{43}$/)
  assert.deepEqual(await bearer(secret), {
    ...{ name: 'ci', via: 'key', scope: 'work', project: '/srv/app', system: null },
  })
  assert.deepEqual([key.state, key.last_used_at], ['valid', null])
  const stored = JSON.stringify(await store.apiKeys.list())
  assert.ok(!stored.includes(secret) && !stored.includes(secret.slice(11)), 'only the hash is stored')
})

test('a request without a key, with another scheme, or with a changed key is refused', async t => {
  const { keys, as, bearer } = await keysWorld(t)
  const { secret } = await keys.create({ scope: 'admin' })
  await assert.rejects(as(), code('key_missing'))
  await assert.rejects(as('Bearer '), code('key_missing'))
  await assert.rejects(as(`Basic ${secret}`), code('key_missing'))
  const last = secret.endsWith('A') ? 'B' : 'A'
  const changed = [
    secret.slice(0, -1),
    `${secret.slice(0, -1)}${last}`,
    `${secret}A`,
    secret.slice(4),
    'pcc_',
    '\0',
    '🔑',
  ]
  for (const text of changed) await assert.rejects(bearer(text), code('key_unknown'), text)
})

test('a key that was revoked, has expired or is of another system is refused, and only whoever has it learns why', async t => {
  const { keys, bearer, time } = await keysWorld(t)
  const revoked = await keys.create({ name: 'old', scope: 'read' })
  assert.equal((await keys.revoke('old')).state, 'revoked')
  await assert.rejects(bearer(revoked.secret), code('key_revoked'))
  await assert.rejects(bearer(revoked.secret.replace(/.$/, '_')), code('key_unknown'))
  const short = await keys.create({ scope: 'read', expires_at: time.now + 10 })
  assert.equal((await bearer(short.secret)).name, short.key.id)
  time.now += 10
  await assert.rejects(bearer(short.secret), code('key_expired'))
  const elsewhere = await keys.create({ scope: 'read', system: 'there' })
  await assert.rejects(bearer(elsewhere.secret), code('key_elsewhere'))
  const here = await keys.create({ scope: 'read', system: 'here' })
  assert.equal((await bearer(here.secret)).system, 'here')
})

test('after a rotation the new secret counts and the old one does not; a revoked key stays revoked', async t => {
  const { keys, bearer } = await keysWorld(t)
  const first = await keys.create({ name: 'ci', scope: 'read' })
  const second = await keys.rotate('ci', undefined)
  await assert.rejects(bearer(first.secret), code('key_unknown'))
  assert.equal((await bearer(second.secret)).name, 'ci')
  await keys.revoke(first.key.id)
  await assert.rejects(keys.rotate('ci', undefined), code('key_revoked'))
  await assert.rejects(keys.create({ name: 'ci', scope: 'read' }), code('key_name_taken'))
  await assert.rejects(keys.rotate('cd', undefined), code('key_not_found'))
})

test('on a connection that has shown a key before, its end, a new secret and another key count at once', async t => {
  const { keys, connect, time } = await keysWorld(t)
  const [ci, short, other] = [
    await keys.create({ name: 'ci', scope: 'read' }),
    await keys.create({ name: 'short', scope: 'read', expires_at: time.now + 10 }),
    await keys.create({ name: 'other', scope: 'admin' }),
  ]
  const ask = connect()
  for (const secret of [ci.secret, ci.secret]) assert.equal((await ask(secret)).name, 'ci')
  assert.deepEqual([(await ask(other.secret)).scope, (await ask(ci.secret)).scope], ['admin', 'read'])
  await assert.rejects(ask(ci.secret.replace(/.$/, '_')), code('key_unknown'))
  const rotated = await keys.rotate('ci', undefined)
  await assert.rejects(ask(ci.secret), code('key_unknown'))
  assert.equal((await ask(rotated.secret)).name, 'ci')
  await keys.revoke('ci')
  await assert.rejects(ask(rotated.secret), code('key_revoked'))
  const until = connect()
  assert.equal((await until(short.secret)).name, 'short')
  time.now += 10
  await assert.rejects(until(short.secret), code('key_expired'))
  assert.equal((await keys.list()).find(({ name }) => name === 'short')?.last_used_at, time.now - 10)
})

test('the last use of a key is written when the daemon ends, not with each request', async t => {
  const { keys, bearer, store, time } = await keysWorld(t)
  const { secret } = await keys.create({ scope: 'read' })
  const before = (await store.events({})).length
  for (let n = 0; n < 100; n++) await bearer(secret)
  assert.equal((await store.apiKeys.list())[0]?.last_used_at, null)
  assert.equal((await keys.list())[0]?.last_used_at, time.now)
  await keys[Symbol.asyncDispose]()
  assert.equal((await store.apiKeys.list())[0]?.last_used_at, time.now)
  assert.equal((await store.events({})).length, before)
})

test('a scope that is too small is refused', () => {
  const caller = { name: 'ci', via: 'key', scope: 'work', project: null, system: null } as const
  requireScope(caller, 'read')
  requireScope(caller, 'work')
  assert.throws(() => requireScope(caller, 'decide'), code('scope_needed'))
})

test('every change over the socket is in the audit log before it happens, and one that fails says so', async t => {
  const world = await scriptedWorld(t, scriptedAgent())
  const made = await world.call('POST', '/api-keys', { name: 'ci', scope: 'work' })
  assert.equal(made.status, 201)
  assert.equal((await world.call('POST', '/api-keys/nobody/revoke', {})).status, 404)
  assert.equal((await world.call('GET', '/api-keys')).status, 200)
  const { body } = await world.call('GET', '/audit')
  assert.deepEqual(
    body.entries.map(({ caller, via, action, target, failed }: Record<string, unknown>) => [
      ...[caller, via, action, target, failed],
    ]),
    [
      ['you', 'socket', 'POST /api-keys/:ref/revoke', 'ref=nobody', 404],
      ['you', 'socket', 'POST /api-keys', '', null],
    ],
  )
  assert.ok(!JSON.stringify(body).includes(made.body.secret))
})

test('a change that cannot be audited does not happen', async t => {
  const world = await scriptedWorld(t, scriptedAgent())
  t.mock.method(world.store.audit, 'add', () => Promise.reject(new Error('the disk is full')))
  assert.equal((await world.call('POST', '/api-keys', { name: 'ci', scope: 'work' })).status, 500)
  assert.deepEqual((await world.call('GET', '/api-keys')).body.keys, [])
})
