import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import fastify from 'fastify'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { silentLog } from '../../../src/base/log.ts'
import { installAdmission } from '../../../src/daemon/api/admission.ts'
import { type ApiSettings, openListener } from '../../../src/daemon/api/listener.ts'
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

async function listening(t: TestContext, env: Record<string, string>, options = { hasKeys: true }) {
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

test('api.trusted_proxies: only they are answered, and what they forward for this machine is refused', async t => {
  const through = async (proxies: string) => {
    const { door, address, serve } = await listening(t, { PCC_API_TRUSTED_PROXIES: proxies })
    const app = fastify()
    installProblems(app, silentLog)
    const looked: string[] = []
    const speakers = {
      refuseAgents: async () => void looked.push('looked'),
      refuseUnknownApproval() {},
      refuseOtherAgents: async () => {},
    }
    const authenticate = async () => ({
      name: 'ci',
      via: 'key' as const,
      scope: 'read' as const,
      project: null,
      system: null,
    })
    const daemon = { person: 'human', authenticator: { authenticate } }
    installAdmission(app, { daemon, door: () => door, speakers, isFromSocket: () => false })
    app.get('/api/v1/tasks', async () => ({}))
    await app.ready()
    serve((request, response) => app.routing(request, response))
    const as = async (forwarded?: string) => {
      const { status, body } = await callApi(address, 'x', {
        method: 'GET',
        path: '/tasks',
        headers: { 'x-forwarded-for': forwarded },
      })
      return [status, body.code]
    }
    return { as, looked }
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
