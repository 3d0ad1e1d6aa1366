import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { openQueueLimit } from '../../../src/daemon/api/queue-limit.ts'
import { openRateLimit } from '../../../src/daemon/api/rate-limit.ts'
import type { Store } from '../../../src/store/store.ts'
import { startDaemon } from '../daemon-process.ts'
import { callerWith, LISTENING } from './api-world.ts'

test('api.enabled, api.requests_per_minute, api.max_streams and tasks.queue_size bound what the API does', async t => {
  const limits = { PCC_API_REQUESTS_PER_MINUTE: '180', PCC_API_MAX_STREAMS: '1', PCC_TASKS_QUEUE_SIZE: '3' }
  const daemon = await startDaemon(t, { env: { ...LISTENING, ...limits } })
  const { call, address, secret } = await callerWith(daemon, { scope: 'work' })
  const project = join(daemon.home, 'p')
  mkdirSync(project)
  const add = () => call('POST', '/tasks', { body: { project, title: 'x' } })
  const added = await Promise.all([add(), add(), add(), add(), add()])
  const created = added.filter(({ status }) => status === 201)
  const full = added.filter(({ status }) => status === 429)
  assert.ok(created.length <= 3 && created.length + full.length === 5, added.map(({ status }) => status).join())
  assert.deepEqual([full[0]?.body.code, full[0]?.headers['retry-after']], ['queue_full', '30'])
  for (let left = 3 - created.length; left > 0; left--) created.push(await add())
  assert.deepEqual(codeOf(await add()), [429, 'queue_full'])
  await call('POST', `/tasks/${created[0]?.body.id}/cancel`)
  assert.equal((await add()).status, 201, 'there is room again')

  const headers = { authorization: `Bearer ${secret}` }
  const stream = request(`${address}/api/v1/events`, { headers, agent: false }).end()
  t.after(() => stream.destroy())
  await once(stream, 'response')
  assert.deepEqual(codeOf(await call('GET', '/events')), [429, 'too_many_streams'])

  let last = await call('GET', '/systems')
  for (let sent = 0; sent < 60 && last.status === 200; sent++) last = await call('GET', '/systems')
  assert.deepEqual(codeOf(last), [429, 'too_many_requests'])
  assert.match(last.headers['retry-after'] ?? '', /^[1-9]$/)
  assert.equal((await (await callerWith(daemon, { scope: 'read' })).call('GET', '/systems')).status, 200, 'of one key')

  const off = await daemon.call('POST', '/daemon/api', { body: { on: false } })
  assert.deepEqual([off.body.on, off.body.address], [false, null])
  await assert.rejects(call('GET', '/systems'), { code: 'ECONNREFUSED' })
  const on = await daemon.call('POST', '/daemon/api', { body: { on: true } })
  assert.match(on.body.address, /^http:\/\/127\.0\.0\.1:\d+$/)
})

const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]

test('without api.enabled the daemon listens on no port', async t => {
  const daemon = await startDaemon(t)
  assert.deepEqual((await daemon.call('GET', '/daemon/api')).body, {
    ...{ on: false, address: null, connections: 0, streams: 0, problem: null },
  })
})

test('a queue never takes more than its size, however requests and ends of tasks interleave', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 12 }),
      fc.array(fc.integer({ min: 0, max: 4 })),
      async (limit, steps) => {
        let open = 0
        let most = 0
        const store = { tasks: { counts: async () => ({ ready: open }) } } as unknown as Store
        const queue = openQueueLimit({ store }, limit)
        const add = () =>
          queue.add('/p', async () => {
            await Promise.resolve()
            open += 1
            most = Math.max(most, open)
          })
        for (const step of steps) {
          await Promise.allSettled(Array.from({ length: step * 3 }, add))
          if (step % 2 === 0) open = Math.max(0, open - step)
        }
        assert.ok(most <= limit, `${most} of ${limit}`)
        open = 0
        await add()
      },
    ),
  )
})

test('a caller may send its requests evenly or some at once, and never more in a minute', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 600 }), fc.array(fc.integer({ min: 0, max: 5_000 })), (perMinute, gaps) => {
      let now = 0
      const limit = openRateLimit(perMinute, () => now)
      const taken: number[] = []
      for (const gap of gaps) {
        now += gap
        try {
          limit.count('me')
          taken.push(now)
        } catch (error) {
          const { seconds } = (error as { detail: { seconds: number } }).detail
          now += seconds * 1000
          limit.count('me')
          taken.push(now)
        }
      }
      for (const start of taken) {
        const inMinute = taken.filter(at => at >= start && at < start + 60_000).length
        assert.ok(inMinute <= perMinute + Math.max(1, perMinute / 6) + 1)
      }
    }),
  )
})

test('as many callers are remembered as there is room for; the one that was quiet longest begins anew', () => {
  const limit = openRateLimit(6, () => 0)
  limit.count('first')
  limit.count('second')
  for (let other = 0; other < 5_000; other++) limit.count(`other ${other}`)
  assert.throws(() => limit.count('second'), { code: 'too_many_requests' })
  for (let other = 5_000; other < 9_999; other++) limit.count(`other ${other}`)
  limit.count('first')
  assert.throws(() => limit.count('second'), { code: 'too_many_requests' })
})
