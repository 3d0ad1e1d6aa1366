import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { sign } from '@octokit/webhooks-methods'
import fc from 'fast-check'
import fastify, { type FastifyRequest } from 'fastify'
import { findSender } from '../../../src/daemon/api/admission.ts'
import { installProblems } from '../../../src/daemon/api/problems.ts'
import { addWebhookRoutes } from '../../../src/daemon/webhooks/receive.ts'
import { checkMessage, type SignatureKind, signPcc } from '../../../src/daemon/webhooks/signature.ts'
import { GITHUB_SECRET, githubPayload, REPOSITORY, signedByGitHub } from './github-messages.ts'
import { webhookWorld } from './webhook-world.ts'

const labelled = (number = 7) =>
  githubPayload('issues', 'labeled', payload => {
    Object.assign(payload.issue, { number, title: `issue ${number}` })
    payload.label.name = 'pcc'
  })

test('a message is stored before it is answered, and the same one is worked on once, whatever it is called', async t => {
  const { github, post, worked, world } = await webhookWorld(t)
  const message = labelled()
  const first = await github('issues', message, { delivery: 'one' })
  assert.deepEqual([first.status, first.body], [202, { status: 'queued' }])
  assert.equal((await world.store.webhooks.list({ limit: 9 })).length, 1)
  const again = await github('issues', message, { delivery: 'one' })
  assert.deepEqual([again.status, again.body], [200, { status: 'known' }])
  assert.equal((await github('issues', labelled(8), { delivery: 'one' })).status, 200, 'an id is used once')
  // The id is not signed: whoever caught a message can send it under another one, or as another event.
  assert.equal((await github('issues', message, { delivery: 'two' })).status, 200)
  const signed = await signedByGitHub('issue_comment', message, { delivery: 'three' })
  assert.equal((await post('github', signed)).status, 200)
  assert.deepEqual(
    (await worked()).map(({ state }) => state),
    ['done'],
  )
  assert.equal((await world.store.tasks.list({})).length, 1)
})

test('what is forged, not JSON, too large or for nobody is refused, and leaves nothing behind', async t => {
  const { github, post, world } = await webhookWorld(t)
  const { headers, raw } = await signedByGitHub('issues', labelled())
  const codeOf = async (name: string, message: Parameters<typeof post>[1]) => {
    const { status, body } = await post(name, message)
    return [status, body.code]
  }
  assert.deepEqual(await codeOf('github', { headers, raw: `${raw} ` }), [401, 'webhook_signature'])
  const { 'x-hub-signature-256': _, ...unsigned } = headers
  assert.deepEqual(await codeOf('github', { headers: unsigned, raw }), [401, 'webhook_signature'])
  assert.equal((await github('issues', labelled(), { secret: 'another secret of others' })).status, 401)
  assert.deepEqual(await codeOf('github', await signedByGitHub('issues', 'payload=%7B%7D')), [400, 'webhook_body'])
  assert.deepEqual(await codeOf('prometheus', { headers, raw }), [404, 'webhook_unknown'])
  const large = JSON.stringify({ text: 'x'.repeat(1_100_000) })
  assert.equal((await post('github', await signedByGitHub('issues', large))).status, 413)
  assert.deepEqual(await world.store.webhooks.list({ limit: 9 }), [])
})

test('webhooks.github.secret: one that cannot be read, or is too short to be one, lets nobody in', async t => {
  const unread = await webhookWorld(t, { PCC_WEBHOOKS_GITHUB_SECRET: 'env:NOT_SET' })
  const answer = await unread.github('issues', labelled())
  assert.deepEqual([answer.status, answer.body.code, answer.headers['retry-after']], [503, 'webhook_secret', '60'])
  const short = await webhookWorld(t, { PCC_WEBHOOKS_GITHUB_SECRET: 'short' })
  assert.equal((await short.github('issues', labelled(), { secret: 'short' })).status, 503)
  const { body } = await short.world.call('GET', '/webhooks/setup')
  assert.match(body.webhooks[0].problem, /shorter than 16 characters/)
})

test('a secret manager that hangs holds up no webhook whose secret is elsewhere', async t => {
  const { github, world, post } = await webhookWorld(t, { PCC_WEBHOOKS_TELEGRAM_SECRET: 'secret:at-the-manager' })
  const { promise, resolve } = Promise.withResolvers<string>()
  world.daemon.secrets.read = () => promise
  const waiting = post('telegram', { headers: { 'x-telegram-bot-api-secret-token': GITHUB_SECRET }, raw: '{}' })
  assert.equal((await github('issues', labelled())).status, 202)
  resolve(GITHUB_SECRET)
  assert.equal((await waiting).status, 202)
})

const PING = { zen: 'Keep it logically awesome.', hook_id: 1, repository: { full_name: REPOSITORY } }

test('webhooks.requests_per_minute: a flood of ten thousand signed messages gets 429, and neither the queue nor the memory grows with it', async t => {
  const { post, world } = await webhookWorld(t, { PCC_WEBHOOKS_REQUESTS_PER_MINUTE: '60' })
  const counts = new Map<number, number>()
  const before = process.memoryUsage().heapUsed
  let sent = 0
  const sendAll = async () => {
    while (sent < 10_000) {
      sent += 1
      const raw = JSON.stringify({ ...PING, number: sent })
      const headers = { 'x-github-event': 'ping', 'x-github-delivery': randomUUID() }
      const signature = await sign(GITHUB_SECRET, raw)
      const { status } = await post('github', {
        headers: { ...headers, 'content-type': 'application/json', 'x-hub-signature-256': signature },
        raw,
      })
      counts.set(status, (counts.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: 20 }, sendAll))
  assert.equal((counts.get(202) ?? 0) + (counts.get(429) ?? 0), 10_000)
  assert.ok((counts.get(429) ?? 0) > 9_000, `${counts.get(202)} were taken`)
  assert.equal((await world.store.webhooks.list({ limit: 1_000 })).length, counts.get(202))
  const grown = (process.memoryUsage().heapUsed - before) / 1e6
  assert.ok(grown < 150, `the heap has grown by ${grown} MB`)
})

test('webhooks.queue_size: no more messages wait than the settings say', async t => {
  const { github, world } = await webhookWorld(t, { PCC_WEBHOOKS_QUEUE_SIZE: '2' })
  await world.daemon.webhooks.close()
  assert.equal((await github('issues', labelled(1))).status, 202)
  assert.equal((await github('issues', labelled(2))).status, 202)
  const { status, body, headers } = await github('issues', labelled(3))
  assert.deepEqual([status, body.code, headers['retry-after']], [429, 'webhook_queue_full', '60'])
  assert.equal((await world.call('GET', '/webhooks/setup')).body.webhooks[0].waiting, 2)
})

/** Webhooks alone, where a header says who sends, and a sender that says how long its message is and then sends nothing. */
async function slowWorld(t: TestContext, patienceMs?: number) {
  const { world } = await webhookWorld(t)
  await world.daemon.webhooks.close()
  const { webhooks, store, log } = world.daemon
  const app = fastify()
  installProblems(app, log)
  const senderOf = ({ headers }: FastifyRequest) => String(headers['x-from'])
  await addWebhookRoutes(app, { webhooks, store, log, senderOf, ...(patienceMs && { patienceMs }) })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  const open = async (from: string, name = 'github') => {
    const asked = request(`${address}/webhook/${name}`, {
      ...{ method: 'POST', agent: false },
      headers: { 'x-from': from, 'content-type': 'application/json', 'content-length': '500' },
    })
    const state: { status: number | undefined; answered: Promise<unknown> } = {
      status: undefined,
      answered: once(asked, 'response').then(
        ([{ statusCode }]) => {
          state.status = statusCode
        },
        () => {}, // the test is over
      ),
    }
    asked.write('{')
    await once(app.server, 'request')
    return state
  }
  const signed = async () => {
    const { headers, raw: body } = await signedByGitHub('issues', labelled())
    const sent = { method: 'POST', headers: { ...headers, 'x-from': 'ours' }, body }
    return (await fetch(`${address}/webhook/github`, sent)).status
  }
  return { open, signed }
}

test('strangers who hold every place by sending slowly give way to a signed message, the greediest first', async t => {
  const { open, signed } = await slowWorld(t)
  const modest = await open('modest')
  const greedy = []
  while (greedy.length < 49) greedy.push(await open('greedy'))
  assert.equal(await signed(), 202)
  await Promise.race(greedy.map(({ answered }) => answered))
  assert.deepEqual(
    [modest, ...greedy].filter(({ status }) => status !== undefined).map(({ status }) => status),
    [429],
    'one of the greedy had to go',
  )
  assert.equal(modest.status, undefined)
})

test('a message for nobody takes no place, and one that is not there in time is ended', async t => {
  const { open } = await slowWorld(t)
  const kept = await open('one')
  for (let n = 0; n < 60; n += 1) {
    const nobody = await open('other', 'nobody')
    await nobody.answered
    assert.deepEqual([nobody.status, kept.status], [404, undefined])
  }
  const hasty = await slowWorld(t, 20)
  const slow = await hasty.open('slow')
  await slow.answered
  assert.equal(slow.status, 408)
  assert.equal(await hasty.signed(), 202)
})

test('whoever has an address of version 6 has its whole network, and a proxy of ours says who sends', () => {
  const from = (remoteAddress: string, proxies: string[] = [], forwarded?: string) => {
    const request = { raw: { socket: { remoteAddress } }, headers: { 'x-forwarded-for': forwarded } }
    return findSender(request as never, { proxies } as never)
  }
  assert.equal(from('2001:db8::1'), from('2001:db8:0:0:ffff::2'))
  assert.notEqual(from('2001:db8::1'), from('2001:db8:0:1::1'))
  assert.equal(from('::ffff:192.0.2.1'), '192.0.2.1')
  assert.equal(from('10.0.0.1', ['10.0.0.0/8'], '203.0.113.9, 198.51.100.7, 10.0.0.2'), '198.51.100.7')
  assert.equal(from('192.0.2.1', [], '198.51.100.7'), '192.0.2.1', 'anybody can claim that')
})

const NOW = 1_800_000_000_000
const SECRET = 'a secret of sixteen and more'

test('a message of our own kind is refused when it is five minutes old or ahead', () => {
  const body = Buffer.from('{}')
  const check = (seconds: number) => {
    const headers = { 'x-pcc-signature': signPcc(SECRET, body, seconds) }
    return checkMessage({ headers, body }, { secret: SECRET, kind: { by: 'pcc' }, now: NOW })
  }
  assert.ok('delivery' in check(NOW / 1000 - 290))
  const late = check(NOW / 1000 - 310)
  assert.equal('problem' in late && late.problem, 'late')
  const early = check(NOW / 1000 + 310)
  assert.equal('problem' in early && early.problem, 'late')
})

test('every kind of signature holds for its own bytes and secret, and for no others', async () => {
  const kinds: SignatureKind[] = [
    ...(['github', 'bearer', 'telegram', 'pcc'] as const).map(by => ({ by })),
    { by: 'header', header: 'Linear-Signature' },
  ]
  const headersOf = async ({ by }: SignatureKind, body: Buffer): Promise<Record<string, string>> => {
    const signature = await sign(SECRET, body.toString())
    return {
      github: { 'x-hub-signature-256': signature },
      header: { 'linear-signature': signature.slice('sha256='.length) },
      bearer: { authorization: `Bearer ${SECRET}` },
      telegram: { 'x-telegram-bot-api-secret-token': SECRET },
      pcc: { 'x-pcc-signature': signPcc(SECRET, body, NOW / 1000) },
    }[by]
  }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...kinds),
      fc.json(),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      async (kind, json, at, flip) => {
        const body = Buffer.from(json)
        const headers = await headersOf(kind, body)
        const check = (message: { headers: Record<string, string>; body: Buffer }, secret = SECRET) =>
          'delivery' in checkMessage(message, { secret, kind, now: NOW })
        assert.ok(check({ headers, body }))
        assert.ok(!check({ headers, body }, `${SECRET}x`))
        assert.ok(!check({ headers: {}, body }))
        const changed = Buffer.from(body)
        changed[at % changed.length] = (changed[at % changed.length] ?? 0) ^ flip
        const isSigned = kind.by !== 'bearer' && kind.by !== 'telegram'
        assert.equal(check({ headers, body: changed }), !isSigned)
        const [name = '', value = ''] = Object.entries(headers)[0] ?? []
        assert.ok(!check({ headers: { [name]: `${value.slice(0, -1)}${value.endsWith('0') ? '1' : '0'}` }, body }))
      },
    ),
  )
})
