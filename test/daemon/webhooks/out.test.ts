import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setImmediate as soon } from 'node:timers/promises'
import { silentLog } from '../../../src/base/log.ts'
import { tellOutside, type WebhooksOut } from '../../../src/daemon/webhooks/out.ts'
import { findSpecial, isPublic, postGuarded } from '../../../src/daemon/webhooks/send.ts'
import type { ReadWebhooks, WebhookTarget } from '../../../src/daemon/webhooks/settings.ts'
import { checkMessage } from '../../../src/daemon/webhooks/signature.ts'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { buildNotices } from '../../../src/human/notify/build-notices.ts'
import { openStore } from '../../../src/store/open.ts'
import { tempDir } from '../../support/world.ts'

const SECRET = 'a secret of sixteen and more'

interface Got {
  headers: IncomingMessage['headers']
  body: string
}

async function receiver(t: TestContext, answer: (got: Got, count: number) => number) {
  const got: Got[] = []
  const server = createServer(async (request, response) => {
    const one = { headers: request.headers, body: await text(request) }
    got.push(one)
    response.writeHead(answer(one, got.length), { location: 'http://127.0.0.1:1/' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

const target = (url: string, more: Partial<WebhookTarget> = {}): WebhookTarget => {
  const readSecret = async () => ({ secret: SECRET, problem: null })
  return { name: 'ci', url, readSecret, events: 'task.noted', allowsPrivate: true, ...more }
}

async function telling(t: TestContext, targets: WebhookTarget[], more: Partial<WebhooksOut> = {}) {
  const store = await openStore({ file: `${tempDir(t)}/db` })
  t.after(() => store.close())
  const note = (number: number) =>
    store.append([
      {
        ...{ actor: 'human', subject: 't-00000a', kind: 'task.noted' },
        body: { task_id: 't-00000a', title: 'one', text: `note ${number} sk-ant-abcdefghijklmnopqrstuvwx` },
      },
      { actor: 'daemon', subject: 'daemon', kind: 'disk.freed', body: {} },
    ])
  const run = (now: WebhookTarget[] = targets, since = 0) => {
    const over = new AbortController()
    const daemon = { store, log: silentLog, secrets: { known: () => [] } } as unknown as WebhooksOut['daemon']
    const read = async () => ({ targets: now }) as unknown as ReadWebhooks
    const done = tellOutside({ daemon, read, since, signal: over.signal, ...more })
    return async () => {
      over.abort()
      await done
    }
  }
  return { store, note, run }
}

test('webhooks.out: an address is told of the events it wants, signed so that it can check them, with secrets hidden', async t => {
  const { got, url } = await receiver(t, () => 204)
  const { note, run } = await telling(t, [target(url)])
  const end = run()
  await note(1)
  await note(2)
  while (got.length < 2) await soon()
  await end()
  assert.equal(got.length, 2)
  const [first] = got
  const sent = JSON.parse(first?.body ?? '')
  assert.deepEqual([sent.kind, sent.body.text], ['task.noted', 'note 1 sk-[hidden]'])
  assert.deepEqual(
    [first?.headers['x-pcc-event'], first?.headers['x-pcc-delivery']],
    ['task.noted', `event-${sent.id}`],
  )
  const message = { headers: first?.headers ?? {}, body: Buffer.from(first?.body ?? '') }
  assert.ok('delivery' in checkMessage(message, { secret: SECRET, kind: { by: 'pcc' }, now: Date.now() }))
})

test('what could not be sent is sent later, in order and once, also by the next daemon', async t => {
  const { got, url } = await receiver(t, (_, count) => (count === 1 ? 500 : 200))
  const time = { ahead: 0 }
  const { note, run, store } = await telling(t, [target(url)], { now: () => Date.now() + time.ahead })
  const end = run()
  const waiting = () => store.outbox.due('webhook:ci', Number.MAX_SAFE_INTEGER)
  await note(1)
  while ((await waiting())[0]?.tries !== 1) await soon()
  await note(2)
  while ((await waiting()).length < 2) await soon()
  // Whatever is sent out of order is sent now.
  for (let turns = 0; turns < 200; turns += 1) await soon()
  assert.equal(got.length, 1, 'the second waits behind the first')
  await end()
  await note(3)
  time.ahead = 10_000
  const endNext = run()
  while (got.length < 4) await soon()
  while ((await waiting()).length > 0) await soon()
  await endNext()
  const texts = got.map(({ body }) => JSON.parse(body).body.text.slice(0, 6))
  assert.deepEqual(texts, ['note 1', 'note 1', 'note 2', 'note 3'])
})

test('an address is told of nothing from before it was listed, and of one that is removed nothing is kept', async t => {
  const { got, url } = await receiver(t, () => 200)
  const { note, run, store } = await telling(t, [target(url)])
  const waiting = (name: string) => store.outbox.due(`webhook:${name}`, Number.MAX_SAFE_INTEGER)
  const end = run()
  await note(1)
  while (got.length < 1 || (await waiting('ci')).length > 0) await soon()
  await end()
  await note(2)
  const started = (await store.events({ tail: 1 }))[0]?.id ?? 0
  const [other, refusing] = [await receiver(t, () => 200), await receiver(t, () => 500)]
  const both = [target(url), target(other.url, { name: 'new' }), target(refusing.url, { name: 'refusing' })]
  const endBoth = run(both, started)
  await note(3)
  while (got.length < 3 || other.got.length < 1 || refusing.got.length < 1) await soon()
  while ((await waiting('ci')).length + (await waiting('new')).length > 0) await soon()
  await endBoth()
  const told = (messages: Got[]) => messages.map(({ body }) => JSON.parse(body).body.text.slice(0, 6))
  assert.deepEqual([told(got), told(other.got)], [['note 1', 'note 2', 'note 3'], ['note 3']])
  assert.equal((await waiting('refusing')).length, 1)
  const endOne = run(both.slice(0, 2), started)
  await note(4)
  while (got.length < 4 || other.got.length < 2) await soon()
  await endOne()
  assert.deepEqual(await waiting('refusing'), [])
  assert.equal(await store.outbox.cursor('webhook:refusing'), undefined, 'listed again, it is new')
})

test('an address that fails for good is an event once, which is a notice, and its problem is shown until it takes one', async t => {
  const answer = { status: 500 }
  const { got, url } = await receiver(t, () => answer.status)
  const time = { ahead: 0 }
  const { note, run, store } = await telling(t, [target(url)], { now: () => Date.now() + time.ahead })
  const end = run()
  const givenUp = () => store.events({ kinds: ['webhook.given_up'] })
  await note(1)
  await note(2)
  while ((await store.outbox.backlog('webhook:ci')).waiting < 2) await soon()
  await end()
  time.ahead = 4 * 86_400_000
  const endLater = run()
  while ((await store.outbox.backlog('webhook:ci')).failed < 2) await soon()
  const [event, ...more] = await givenUp()
  assert.deepEqual([event?.body, more], [{ name: 'ci', problem: 'it answers 500' }, []])
  const [notice] = await buildNotices(event as StoredEvent, { store, hidden: [] })
  assert.match(`${notice?.title}\n${notice?.text}`, /webhook ci .*\n.*it answers 500.*pcc webhooks status/s)
  assert.equal((await store.outbox.backlog('webhook:ci')).problem, 'it answers 500')
  answer.status = 200
  const before = got.length
  await note(3)
  while (got.length === before) await soon()
  while ((await store.outbox.backlog('webhook:ci')).waiting > 0) await soon()
  assert.deepEqual(await store.outbox.backlog('webhook:ci'), { waiting: 0, failed: 0, problem: null })
  await endLater()
})

test('only addresses of the internet are called, unless the person allows others; redirects are not followed', async t => {
  const { got, url } = await receiver(t, () => 302)
  const signal = new AbortController().signal
  const post = async (to: string, allowsPrivate: boolean) => {
    const sent = await postGuarded({ url: to, headers: {}, body: '{}', allowsPrivate, signal })
    return sent.ok ? 'sent' : sent.problem
  }
  assert.match(await post(url, false), /refused: it is not https/)
  const port = new URL(url).port
  for (const host of [
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '169.254.169.254',
    'localhost',
  ])
    assert.match(await post(`https://${host}:${port}/`, false), /refused: .* no public address/, host)
  assert.equal(got.length, 0)
  assert.match(await post(url, true), /it answers 302; redirects are not followed/)
  assert.equal(got.length, 1)
})

test('addresses of this machine, this network and clouds are not public', () => {
  const special = [
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.100.100.200', '0.0.0.0'],
    ...['255.255.255.255', '224.0.0.1', '240.0.0.1', '192.0.0.192', '198.18.0.1', '168.63.129.16'],
    ...['::', '::1', '::ffff:10.0.0.1', '::10.0.0.1', 'fe80::1', 'fe80::1%eth0', 'fd00:ec2::254', 'fec0::1', 'ff02::1'],
    ...['64:ff9b::a00:1', '2002:a00:1::', '2001::1', '2001:db8::1', '4000::1', 'nonsense', ''],
  ]
  assert.deepEqual(
    special.filter(address => isPublic(address)),
    [],
  )
  const found = ['1.1.1.1', '10.0.0.1'].map(address => ({ address, family: 4 }))
  assert.equal(findSpecial(found)?.address, '10.0.0.1', 'one of several is enough')
  for (const address of ['1.1.1.1', '140.82.112.3', '2606:4700:4700::1111']) assert.ok(isPublic(address), address)
})
