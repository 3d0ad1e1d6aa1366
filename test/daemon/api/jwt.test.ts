import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose'
import { silentLog } from '../../../src/base/log.ts'
import { openAuthenticator } from '../../../src/daemon/api/authenticate.ts'
import { openJwtVerifier } from '../../../src/daemon/api/jwt.ts'
import { defaultValues, nestValues, type Values } from '../../../src/domain/config/settings.ts'

const NOW = Date.UTC(2026, 5, 1)
const SECONDS = NOW / 1000
const SECRET = 'a secret of this test that is long enough'
/** Who must have issued tokens, and for whom. */
const EXPECTED = { 'api.jwt.issuer': 'https://issuer.test', 'api.jwt.audience': 'pcc' }
const CLAIMS = { sub: 'ada', iss: 'https://issuer.test', aud: 'pcc', exp: SECONDS + 60, pcc: 'work' }

/** Who a token is for under these settings, or why it is refused. */
function verifier(values: Partial<Values>, env: Record<string, string> = {}) {
  const verifyJwt = openJwtVerifier({
    ...{ env, log: silentLog, now: () => NOW },
    settings: async () => nestValues({ ...defaultValues(), ...EXPECTED, ...values }).api.jwt,
  })
  const { authenticate } = openAuthenticator({
    keys: { verify: assert.fail, checkAgain: () => assert.fail() },
    verifyJwt,
    system: 'here',
  })
  return async (token: string) => {
    try {
      return await authenticate({ headers: { authorization: `Bearer ${token}` } })
    } catch (error) {
      const { code, message } = error as Error & { code?: string }
      if (code !== 'jwt_refused' && code !== 'key_elsewhere') throw error
      return message
    }
  }
}

function signed(
  claims: object,
  key: Parameters<SignJWT['sign']>[0] = Buffer.from(SECRET),
  header: JWTHeaderParameters = { alg: 'HS256' },
): Promise<string> {
  return new SignJWT({ ...CLAIMS, ...claims }).setProtectedHeader(header).sign(key)
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

test('a token of HS256 says who calls and what it may do; the secret may be in a variable', async () => {
  const who = verifier({ 'api.jwt.secret': 'env:JWT' }, { JWT: SECRET })
  const ada = { name: 'jwt:ada', via: 'jwt', scope: 'work', project: null, system: null }
  assert.deepEqual(await who(await signed({})), ada)
  const rights = { scope: 'decide', project: '/srv/app', system: 'here' }
  assert.deepEqual(await who(await signed({ pcc: rights })), { ...ada, ...rights })
  assert.match(String(await who(await signed({ pcc: { ...rights, system: 'there' } }))), /is for the system there/)
  const long = await who(await signed({ sub: `\n${'x'.repeat(100)}` }))
  assert.match((long as { name: string }).name, /^jwt:[0-9a-f]{36}$/)
  assert.match(
    String(await verifier({ 'api.jwt.secret': 'env:JWT' })(await signed({}))),
    /api\.jwt\.secret takes JWT, which is not set here/,
  )
})

test('a token without a signature, with another one, or with what must be in it missing or wrong is refused', async () => {
  const who = verifier({ 'api.jwt.secret': SECRET })
  const none = `${encoded({ alg: 'none', typ: 'JWT' })}.${encoded(CLAIMS)}.`
  const token = await signed({})
  const [head, body, signature] = token.split('.')
  const cases: [string, string, RegExp][] = [
    ['alg none', none, /algorithm/],
    ['alg none with a signature', `${encoded({ alg: 'none' })}.${body}.${signature}`, /algorithm/],
    ['no alg', `${encoded({})}.${body}.${signature}`, /algorithm|read/],
    ['signature cut off', `${head}.${body}.`, /signature|read/],
    ['other claims', `${head}.${encoded({ ...CLAIMS, pcc: 'admin' })}.${signature}`, /signature/],
    ['another secret', await signed({}, Buffer.from(`${SECRET}!`)), /signature/],
    ['another algorithm', await signed({}, Buffer.from(SECRET.repeat(2)), { alg: 'HS512' }), /algorithm/],
    ['garbage', 'a.b.c', /cannot be read/],
    ['expired', await signed({ exp: SECONDS - 31 }), /expired/],
    ['not yet', await signed({ nbf: SECONDS + 31 }), /time/],
    ['no end', await signed({ exp: undefined }), /time/],
    ['no subject', await signed({ sub: undefined }), /subject/],
    ['another issuer', await signed({ iss: 'https://evil.test' }), /issuer/],
    ['another audience', await signed({ aud: ['web', 'app'] }), /audience/],
    ['no scope', await signed({ pcc: undefined }), /names no scope/],
    ['a scope that is none', await signed({ pcc: 'root' }), /names no scope/],
    ['a relative project', await signed({ pcc: { scope: 'read', project: 'app' } }), /names no scope/],
  ]
  for (const [name, text, problem] of cases) assert.match(String(await who(text)), problem, name)
})

test('clocks may differ by the tolerance and no more', async () => {
  const late = await signed({ exp: SECONDS - 10 })
  const early = await signed({ nbf: SECONDS + 10 })
  for (const token of [late, early]) {
    assert.equal(typeof (await verifier({ 'api.jwt.secret': SECRET })(token)), 'object')
    assert.equal(
      typeof (await verifier({ 'api.jwt.secret': SECRET, 'api.jwt.clock_tolerance_seconds': 5 })(token)),
      'string',
    )
  }
})

test('settings under which anybody could make a token let none in', async () => {
  const token = await signed({})
  const refused = async (values: Partial<Values>) => String(await verifier(values)(token))
  assert.match(await refused({}), /takes none/)
  assert.match(await refused({ 'api.jwt.secret': 'short' }), /shorter than 32 bytes/)
  assert.match(await refused({ 'api.jwt.secret': SECRET, 'api.jwt.issuer': undefined }), /not both set/)
  assert.match(await refused({ 'api.jwt.secret': SECRET, 'api.jwt.audience': undefined }), /not both set/)
  assert.match(await refused({ 'api.jwt.jwks': 'http://issuer.test/keys' }), /not https/)
  assert.match(await refused({ 'api.jwt.secret': SECRET, 'api.jwt.algorithms': ['ES256'] }), /algorithm/)
})

/** A server with public keys that can be replaced. */
async function keyServer(t: TestContext, path = '/keys') {
  const [ours, other] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256', { extractable: true })])
  const publish = async (pair: typeof ours) => ({ ...(await exportJWK(pair.publicKey)), kid: 'k1', alg: 'ES256' })
  const served = { keys: [await publish(ours)], redirect: undefined as string | undefined, requests: 0 }
  const server = createServer((request, response) => {
    served.requests++
    if (served.redirect !== undefined) response.writeHead(302, { location: served.redirect }).end()
    else if (request.url !== path) response.writeHead(404).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: served.keys }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { ours, other, served, publish, origin, jwks: `${origin}${path}` }
}

const ES256 = { alg: 'ES256', kid: 'k1' }

test('a token of public keys counts; one signed with a key that it brings, names, or takes for a secret does not', async t => {
  const { ours, other, served, publish, jwks, origin } = await keyServer(t)
  const who = verifier({ 'api.jwt.jwks': jwks })
  assert.equal(((await who(await signed({}, ours.privateKey, ES256))) as { name: string }).name, 'jwt:ada')
  const theirs = await publish(other)
  const pem = Buffer.from(JSON.stringify(served.keys[0]))
  const refused: [string, string, RegExp][] = [
    ['another key under the same name', await signed({}, other.privateKey, ES256), /signature/],
    ['a key in the token', await signed({}, other.privateKey, { ...ES256, jwk: theirs }), /signature/],
    ['an address in the token', await signed({}, other.privateKey, { ...ES256, jku: `${origin}/evil` }), /signature/],
    ['an unknown key', await signed({}, other.privateKey, { alg: 'ES256', kid: 'k2' }), /not one of ours/],
    ['the public key as a secret', await signed({}, pem, { alg: 'HS256', kid: 'k1' }), /algorithm/],
  ]
  for (const [name, token, problem] of refused) assert.match(String(await who(token)), problem, name)
  assert.equal(served.requests, 1, 'a wrong token does not make us ask again')
})

test('with a secret and public keys, neither is taken for the other', async t => {
  const { ours, served, jwks } = await keyServer(t)
  const who = verifier({ 'api.jwt.jwks': jwks, 'api.jwt.secret': SECRET })
  assert.equal(typeof (await who(await signed({}))), 'object')
  assert.equal(typeof (await who(await signed({}, ours.privateKey, ES256))), 'object')
  const asSecret = await signed({}, Buffer.from(JSON.stringify(served.keys[0])), { alg: 'HS256', kid: 'k1' })
  assert.match(String(await who(asSecret)), /signature/)
})

test('keys at an address that leads elsewhere, is gone or is none are not used', async t => {
  const { other, served, publish, jwks, origin } = await keyServer(t)
  const token = await signed({}, other.privateKey, ES256)
  const evil = await keyServer(t)
  evil.served.keys = [await publish(other)]
  served.redirect = evil.jwks
  assert.match(String(await verifier({ 'api.jwt.jwks': jwks })(token)), /could not be fetched/)
  assert.equal(evil.served.requests, 0, 'a redirect is not followed')
  served.redirect = undefined
  assert.match(String(await verifier({ 'api.jwt.jwks': `${origin}/gone` })(token)), /could not be fetched/)
  assert.match(String(await verifier({ 'api.jwt.jwks': 'http://127.0.0.1:9/keys' })(token)), /could not be fetched/)
})

test('keys that are swapped at their address count from then on, and the old ones do not', async t => {
  t.mock.timers.enable({ apis: ['Date'], now: NOW })
  const { ours, other, served, publish, jwks } = await keyServer(t)
  const who = verifier({ 'api.jwt.jwks': jwks })
  const old = await signed({}, ours.privateKey, ES256)
  const fresh = await signed({}, other.privateKey, { ...ES256, kid: 'k2' })
  assert.equal(typeof (await who(old)), 'object')
  served.keys = [{ ...(await publish(other)), kid: 'k2' }]
  assert.match(String(await who(fresh)), /not one of ours/)
  assert.equal(served.requests, 1, 'unknown keys do not make us ask again and again')
  t.mock.timers.tick(31_000)
  assert.equal(typeof (await who(fresh)), 'object')
  assert.match(String(await who(old)), /not one of ours/)
  served.keys = [{ ...(await publish(ours)), kid: 'k2' }]
  t.mock.timers.tick(11 * 60_000)
  assert.match(String(await who(fresh)), /signature/, 'another key took its name')
  assert.equal(served.requests, 3)
})

test('with another address in the settings, only the keys there count', async t => {
  const [before, after] = [await keyServer(t), await keyServer(t)]
  const time = { now: NOW }
  let jwks = before.jwks
  const settings = async () => nestValues({ ...defaultValues(), ...EXPECTED, 'api.jwt.jwks': jwks }).api.jwt
  const verify = openJwtVerifier({ env: {}, log: silentLog, now: () => time.now, settings })
  const [old, fresh] = [await signed({}, before.ours.privateKey, ES256), await signed({}, after.ours.privateKey, ES256)]
  assert.equal((await verify(old)).name, 'jwt:ada')
  await assert.rejects(verify(fresh), /signature/)
  jwks = after.jwks
  time.now += 11_000
  assert.equal((await verify(fresh)).name, 'jwt:ada')
  await assert.rejects(verify(old), /signature/)
})

test('a scope that a token does not say itself is none, whatever all objects inherit', async () => {
  const who = verifier({ 'api.jwt.secret': SECRET })
  const inherited = { pcc: 'admin', scope: 'admin' }
  const make = (value: unknown) => ({ value, configurable: true })
  Object.defineProperties(Object.prototype, Object.fromEntries(Object.entries(inherited).map(([k, v]) => [k, make(v)])))
  try {
    assert.match(String(await who(await signed({ pcc: undefined }))), /names no scope/)
    assert.match(String(await who(await signed({ pcc: {} }))), /names no scope/)
    assert.match(String(await who(await signed({ pcc: ['work'] }))), /names no scope/)
  } finally {
    for (const name of Object.keys(inherited)) Reflect.deleteProperty(Object.prototype, name)
  }
  const own = JSON.parse('{ "__proto__": { "pcc": "admin" } }') as object
  assert.match(String(await who(await signed({ ...own, pcc: undefined }))), /names no scope/)
})

test('a Supabase project needs only its address, and only what its user cannot change names the scope', async t => {
  const { ours, origin } = await keyServer(t, '/auth/v1/.well-known/jwks.json')
  const who = verifier({ 'api.jwt.supabase': `${origin}/`, 'api.jwt.issuer': undefined, 'api.jwt.audience': undefined })
  const claims = { iss: `${origin}/auth/v1`, aud: 'authenticated', role: 'authenticated', pcc: undefined }
  const sub = '8ccaa7af-909f-44e7-84cb-67cdccb56be6'
  const granted = { ...claims, sub, app_metadata: { provider: 'email', pcc: 'read' } }
  const caller = await who(await signed(granted, ours.privateKey, ES256))
  assert.deepEqual(caller, { name: `jwt:${sub}`, via: 'jwt', scope: 'read', project: null, system: null })
  const claimed = { ...claims, sub, app_metadata: {}, user_metadata: { pcc: 'admin' } }
  assert.match(String(await who(await signed(claimed, ours.privateKey, ES256))), /names no scope/)
  const anonymous = { ...granted, aud: 'anon' }
  assert.match(String(await who(await signed(anonymous, ours.privateKey, ES256))), /audience/)
})

test('the claim that names the scope can be another one', async () => {
  const who = verifier({ 'api.jwt.secret': SECRET, 'api.jwt.claim': 'rights.here' })
  assert.equal(((await who(await signed({ rights: { here: 'decide' } }))) as { scope: string }).scope, 'decide')
  assert.match(String(await who(await signed({ rights: 'decide' }))), /rights\.here names no scope/)
})
