import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fastify from 'fastify'
import { openLog } from '../../../src/base/log.ts'
import { installAccessLog } from '../../../src/daemon/api/audit.ts'
import { tempDir } from '../../support/world.ts'

test('every request is one line with its id, its caller and its route, and without what it contained', async t => {
  const file = join(tempDir(t), 'access.log')
  const access = openLog({ file, level: 'info', maxBytes: 100_000, keep: 1 })
  t.after(() => access.close())
  const app = fastify({ genReqId: () => 'r-1' })
  const caller = { name: 'ci', via: 'key', scope: 'work', project: null, system: null } as const
  installAccessLog(app, { access, callerOf: request => (request.headers.authorization ? caller : undefined) })
  app.post('/tasks/:id', async (_request, reply) => reply.code(201).send({ made: true }))
  const sent = { headers: { authorization: 'Bearer pcc_000000_hush' }, payload: { title: 'private words' } }
  await app.inject({ method: 'POST', url: '/tasks/t-1?q=private', ...sent })
  await app.inject({ method: 'GET', url: '/private/path' })
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  const [first, second] = lines.map(line => JSON.parse(line))
  assert.deepEqual(
    [first.request, first.caller, first.via, first.method, first.route, first.status],
    ['r-1', 'ci', 'key', 'POST', '/tasks/:id', 201],
  )
  assert.ok(first.ms >= 0)
  assert.deepEqual([second.caller, second.route, second.status], [null, null, 404])
  assert.doesNotMatch(lines.join('\n'), /private|hush|t-1/)
})
