import assert from 'node:assert/strict'
import { test } from 'node:test'
import fastify from 'fastify'
import { silentLog } from '../../../src/base/log.ts'
import { installErrors } from '../../../src/daemon/routes/errors.ts'
import { installGuard, issueCapability } from '../../../src/daemon/routes/guard.ts'

const TOKEN = 'a-token-of-this-test-only'
const OURS = { host: 'pcc', authorization: `Bearer ${TOKEN}` }

/** The status of a request with these headers to one of three guarded routes. */
function guarded() {
  const app = fastify()
  installErrors(app, silentLog)
  installGuard(app, TOKEN)
  for (const path of ['/sessions', '/health', '/agent/note']) app.get(path, async () => 'in')
  return async (url: string, headers: Record<string, string>) => (await app.inject({ url, headers })).statusCode
}

test('a route needs the token, the right host and no web page; only health is open without the token', async () => {
  const status = guarded()
  assert.equal(await status('/sessions', OURS), 200)
  assert.equal(await status('/sessions', { host: 'pcc' }), 401)
  assert.equal(await status('/sessions', { ...OURS, authorization: 'Bearer wrong' }), 401)
  assert.equal(await status('/sessions', { ...OURS, authorization: `Basic ${TOKEN}` }), 401)
  assert.equal(await status('/sessions', { ...OURS, host: 'pcc.evil.example' }), 421)
  assert.equal(await status('/sessions', { ...OURS, origin: 'http://localhost' }), 421)
  assert.equal(await status('/nowhere', { host: 'pcc' }), 401, 'a stranger does not learn which routes exist')
  assert.equal(await status('/health', { host: 'pcc' }), 200)
  assert.equal(await status('/health', { host: 'evil.example' }), 421)
})

test("the capability of a session's agent opens the tools of agents and no other route", async () => {
  const status = guarded()
  const agent = (capability: string) => ({ host: 'pcc', authorization: `Bearer ${capability}` })
  const capability = issueCapability('s-000001', TOKEN)
  assert.equal(await status('/agent/note', agent(capability)), 200)
  assert.equal(await status('/sessions', agent(capability)), 401)
  const forged = capability.replace('s-000001', 's-000002')
  assert.equal(await status('/agent/note', agent(forged)), 401)
  assert.equal(await status('/agent/note', agent(issueCapability('s-000001', 'another token'))), 401)
})
