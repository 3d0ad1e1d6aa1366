import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { get } from 'node:https'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import fastify, { type FastifyRequest } from 'fastify'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { AppError } from '../../../src/base/errors.ts'
import { silentLog } from '../../../src/base/log.ts'
import { installAdmission } from '../../../src/daemon/api/admission.ts'
import { type ApiSettings, LIMITS, openListener } from '../../../src/daemon/api/listener.ts'
import { installProblems } from '../../../src/daemon/api/problems.ts'
import { loadConfig } from '../../../src/domain/config/load.ts'
import { tempDir } from '../../support/world.ts'
import { callApi } from './api-world.ts'

/** The settings as variables give them, on a free port. */
async function settingsWith(t: TestContext, env: Record<string, string>): Promise<ApiSettings> {
  const home = tempDir(t)
  const all = { PCC_HOME: home, HOME: home, PCC_API_PORT: '0', ...env }
  return (await loadConfig({ paths: appPathsFor({ env: all }), env: all })).config.api
}

type Options = Parameters<typeof openListener>[1]

async function listening(t: TestContext, env: Record<string, string>, options: Options = { hasKeys: true }) {
  const listener = await openListener(await settingsWith(t, env), options)
  t.after(() => listener[Symbol.asyncDispose]())
  return listener
}

const refuses = (
  t: TestContext,
  env: Record<string, string>,
  code: string,
  problem: RegExp,
  options = { hasKeys: true, now: Date.now() },
) =>
  assert.rejects(
    settingsWith(t, env).then(settings => openListener(settings, options)),
    (error: { code?: string; message: string }) => {
      assert.equal(error.code, code, error.message)
      assert.match(error.message, problem)
      return true
    },
  )

function certificate(dir: string): { cert: string; key: string } {
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const files = ['-keyout', key, '-out', cert]
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      ...subject,
      ...files,
    ],
    { stdio: 'pipe' },
  )
  return { cert, key }
}

test('api.host: an address that others reach needs encryption and a key; what is no address is refused', async t => {
  await refuses(t, { PCC_API_HOST: '0.0.0.0' }, 'api_address', /not be encrypted/)
  await refuses(t, { PCC_API_HOST: '::' }, 'api_address', /not be encrypted/)
  await refuses(t, { PCC_API_HOST: 'example.org' }, 'api_address', /takes an address/)
  await refuses(t, { PCC_API_PORT: '70000' }, 'api_address', /no such port/)
  await refuses(t, { PCC_API_HOST: '0.0.0.0', PCC_API_TRUSTED_PROXIES: '10.0.0.1' }, 'api_address', /no key yet/, {
    hasKeys: false,
    now: Date.now(),
  })
  await refuses(t, { PCC_API_TRUSTED_PROXIES: 'proxy' }, 'api_address', /"proxy" is no address/)
  await refuses(t, { PCC_API_TRUSTED_PROXIES: '10.0.0.0/33' }, 'api_address', /is no address/)
  const { address, door } = await listening(t, { PCC_API_HOST: '0.0.0.0', PCC_API_TRUSTED_PROXIES: '10.0.0.0/8' })
  assert.match(address, /^http:\/\/0\.0\.0\.0:\d+$/)
  assert.deepEqual(door.proxies, ['10.0.0.0/8'])
})

test('api.port: a port in use is said, and by whom not to be taken', async t => {
  const squatter = createServer().listen(0, '127.0.0.1')
  t.after(() => squatter.close())
  await once(squatter, 'listening')
  const { port } = squatter.address() as { port: number }
  await refuses(
    t,
    { PCC_API_PORT: `${port}` },
    'api_port_taken',
    new RegExp(`127.0.0.1:${port}, because another program`),
  )
})

test('api.hosts: a name that the person states is ours, with and without the port; others are not', async t => {
  const { door } = await listening(t, { PCC_API_HOSTS: 'Pcc.example.org' })
  assert.ok(door.hosts.has('pcc.example.org') && door.origins.has('http://pcc.example.org'))
  assert.ok(!door.hosts.has('example.org') && !door.hosts.has('localhost'))
})

test('api.tls_cert and api.tls_key: HTTPS is spoken; a certificate that ran out, is not valid yet, is broken or has another key is refused', async t => {
  const dir = tempDir(t)
  const { cert, key } = certificate(dir)
  const both = { PCC_API_TLS_CERT: cert, PCC_API_TLS_KEY: key }
  const listener = await listening(t, { ...both, PCC_API_HOST: '127.0.0.1' })
  listener.serve((_, response) => void response.end('hello'))
  const [response] = (await once(get(listener.address, { rejectUnauthorized: false, agent: false }), 'response')) as [
    import('node:http').IncomingMessage,
  ]
  assert.equal(await text(response), 'hello')
  const day = 24 * 3_600_000
  assert.ok((listener.expiresAt ?? 0) > Date.now() + day)
  await refuses(t, both, 'api_certificate', /ran out/, { hasKeys: true, now: Date.now() + 3 * day })
  await refuses(t, both, 'api_certificate', /valid from/, { hasKeys: true, now: Date.now() - 2 * day })
  await refuses(t, { PCC_API_TLS_CERT: cert }, 'api_certificate', /belong together/)
  await refuses(t, { ...both, PCC_API_TLS_CERT: join(dir, 'nothing.pem') }, 'api_certificate', /ENOENT/)
  const other = tempDir(t)
  await refuses(
    t,
    { ...both, PCC_API_TLS_KEY: certificate(other).key },
    'api_certificate',
    /not that of the certificate/,
  )
  writeFileSync(join(other, 'broken.pem'), 'no certificate')
  await refuses(t, { ...both, PCC_API_TLS_CERT: join(other, 'broken.pem') }, 'api_certificate', /./)
  await listening(t, { ...both, PCC_API_HOST: '0.0.0.0' })
})

/** The listener with the real admission before one route; every key but `wrong` is right. */
async function admitting(t: TestContext, env: Record<string, string>, options?: Options) {
  const { door, address, serve } = await listening(t, env, options)
  const app = fastify()
  installProblems(app, silentLog)
  const looked: string[] = []
  const speakers = {
    refuseAgents: async () => void looked.push('looked'),
    refuseUnknownApproval() {},
    refuseOtherAgents: async () => {},
  }
  const caller = { name: 'ci', via: 'key', scope: 'read', project: null, system: null } as const
  const authenticate = async ({ headers }: Pick<FastifyRequest, 'headers'>) => {
    if (headers.authorization === 'Bearer wrong') throw new AppError('key_unknown', {})
    return caller
  }
  const daemon = { person: 'human', authenticator: { authenticate } }
  installAdmission(app, { daemon, door: () => door, speakers, isFromSocket: () => false })
  app.get('/api/v1/tasks', async () => ({}))
  app.post('/api/v1/tasks', async () => ({}))
  await app.ready()
  serve((request, response) => app.routing(request, response))
  const ask = async (key: string, headers: Record<string, string | undefined> = {}) => {
    const { status, body, headers: got } = await callApi(address, key, { method: 'GET', path: '/tasks', headers })
    return { code: [status, body.code], retryAfter: got['retry-after'] }
  }
  return { ask, looked, address, port: Number(new URL(address).port) }
}

test('api.trusted_proxies: only they are answered, and what they forward for this machine is refused', async t => {
  const through = async (proxies: string) => {
    const { ask, looked } = await admitting(t, { PCC_API_TRUSTED_PROXIES: proxies })
    return { as: async (forwarded?: string) => (await ask('x', { 'x-forwarded-for': forwarded })).code, looked }
  }
  const { as, looked } = await through('127.0.0.0/8')
  assert.deepEqual(await as('192.0.2.7'), [200, undefined])
  assert.deepEqual(await as('127.0.0.1, 192.0.2.7'), [200, undefined], 'what a client claims before does not count')
  assert.deepEqual(await as('192.0.2.7, 127.0.0.9'), [200, undefined], 'a second proxy of ours')
  assert.deepEqual(await as('127.0.0.1'), [403, 'api_local_proxy'])
  assert.deepEqual(await as('192.0.2.7, ::1'), [403, 'api_local_proxy'])
  assert.deepEqual(await as('unknown'), [403, 'api_local_proxy'])
  assert.deepEqual(await as(), [403, 'api_local_proxy'])
  assert.deepEqual(looked, [], 'nobody far away is looked for here')
  assert.deepEqual(await (await through('192.0.2.1')).as('192.0.2.7'), [403, 'api_proxy'])
})

test('wrong keys from one address are answered more and more slowly, and the right one is still let in', async t => {
  const { ask } = await admitting(t, {})
  let last = await ask('wrong')
  for (let tries = 0; tries < 60 && last.code[0] === 401; tries++) last = await ask('wrong')
  assert.deepEqual(last.code, [429, 'too_many_requests'])
  assert.match(last.retryAfter ?? '', /^[1-9]\d*$/)
  assert.deepEqual((await ask('right')).code, [200, undefined])
})

test('a web page is refused wherever it is from, also from another port of this machine and from a name that leads here', async t => {
  const { ask, port } = await admitting(t, {})
  for (const site of ['cross-site', 'same-site'])
    assert.deepEqual((await ask('right', { 'sec-fetch-site': site })).code, [403, 'api_origin'], site)
  for (const origin of ['null', '', 'http://127.0.0.1', 'http://localhost:1', `https://127.0.0.1:${port}`, 'file://'])
    assert.deepEqual((await ask('right', { origin })).code, [403, 'api_origin'], origin)
  for (const host of [`rebound.example:${port}`, `127.0.0.1.nip.io:${port}`, `127.0.0.1:${port}.`, '127.0.0.1'])
    assert.deepEqual((await ask('right', { host })).code, [421, 'api_host'], host)
  const ours = { origin: `http://localhost:${port}`, 'sec-fetch-site': 'same-origin' }
  assert.deepEqual((await ask('right', ours)).code, [200, undefined])
})

test('who sends changes over a connection is looked at again after a second, who only reads once', async t => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const { address, looked } = await admitting(t, {})
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const looks = async (method: string) => {
    const before = looked.length
    assert.equal((await callApi(address, 'right', { method, path: '/tasks', agent })).status, 200)
    return looked.length - before
  }
  assert.deepEqual([await looks('GET'), await looks('GET'), await looks('POST')], [1, 0, 0])
  t.mock.timers.tick(1_001)
  assert.deepEqual([await looks('GET'), await looks('POST'), await looks('POST')], [0, 1, 0])
})

/** Sends a text over a connection of its own. Returns all that comes back until the other end closes it. */
async function sendRaw(port: number, sent: string, { half = false } = {}): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  if (half) socket.end(sent)
  else socket.write(sent)
  const answer = await text(socket).catch(() => '')
  socket.destroy()
  return answer
}

const NEVER = { timeout: 60_000 }

test('a client that sends its head or its body too slowly, or ends in the middle of it, is closed', NEVER, async t => {
  const limits = { ...LIMITS, headersTimeout: 50, requestTimeout: 0, connectionsCheckingInterval: 20 }
  const slow = await admitting(t, {}, { hasKeys: true, limits })
  const { ask, port } = await admitting(
    t,
    {},
    {
      ...{ hasKeys: true, limits: { ...limits, headersTimeout: 0, requestTimeout: 50 } },
    },
  )
  const head = (to: number) => `POST /api/v1/tasks HTTP/1.1\r\nHost: 127.0.0.1:${to}\r\nAuthorization: Bearer x\r\n`
  const body = 'Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{"title":'
  assert.match(await sendRaw(slow.port, head(slow.port)), /^HTTP\/1\.1 408 /)
  assert.match(await sendRaw(port, `${head(port)}${body}`), /^HTTP\/1\.1 408 /)
  assert.doesNotMatch(await sendRaw(port, `${head(port)}${body}`, { half: true }), /^HTTP\/1\.1 [25]/)
  assert.match(await sendRaw(slow.port, ''), /^(HTTP\/1\.1 408 |$)/)
  assert.deepEqual((await ask('right')).code, [200, undefined])
})

test('more connections than allowed are closed at once, and those that are open stay', NEVER, async t => {
  const { port, address } = await admitting(t, {}, { hasKeys: true, limits: { ...LIMITS, maxConnections: 3 } })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const ask = () => callApi(address, 'right', { method: 'GET', path: '/tasks', agent })
  assert.equal((await ask()).status, 200)
  const idle = [1, 2].map(() => connect(port, '127.0.0.1').on('error', () => {}))
  t.after(() => {
    for (const socket of idle) socket.destroy()
  })
  await Promise.all(idle.map(socket => once(socket.resume(), 'connect')))
  const more = connect(port, '127.0.0.1').on('error', () => {})
  await once(more.resume(), 'close')
  assert.ok(
    idle.every(({ closed, readableEnded }) => !closed && !readableEnded),
    'only the one too many',
  )
  assert.equal((await ask()).status, 200)
})

test('what went wrong inside is in the log with the id of the request, and not in the answer', async () => {
  const logged: unknown[] = []
  const app = fastify({ genReqId: () => 'r-1' })
  installProblems(app, { ...silentLog, error: fields => logged.push(fields) })
  const error = new Error('no such table: secrets')
  app.get('/broken', async () => {
    throw error
  })
  const answer = await app.inject('/broken?private=1')
  assert.deepEqual(
    [answer.statusCode, answer.headers['content-type']],
    [500, 'application/problem+json; charset=utf-8'],
  )
  assert.doesNotMatch(answer.body, /secrets|private/)
  assert.equal(answer.json().code, 'internal')
  assert.deepEqual(logged, [{ error, route: 'GET /broken', request: 'r-1' }])
})
