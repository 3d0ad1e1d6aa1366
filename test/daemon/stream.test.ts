import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { NewEvent } from '../../src/domain/event.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { type DaemonProcess, startDaemon } from './daemon-process.ts'
import { sharedDaemon } from './shared-daemon.ts'

const shared = sharedDaemon()

const said = (subject: string, text: string): NewEvent => ({
  actor: 'agent',
  subject,
  kind: 'agent.said',
  body: { text },
})

/** A session to follow, and a second connection to the same database that appends events. */
async function storeWithSession(daemon: DaemonProcess): Promise<Store> {
  const store = await openStore({ file: daemon.paths.database })
  await store.sessions.insert({ id: 's-aaaaaa', name: 'one', project: '/p', task: 't', agent: 'claude' })
  return store
}

test('a client that comes back with Last-Event-ID misses nothing and sees nothing twice', async t => {
  const daemon = await startDaemon(t)
  await using store = await storeWithSession(daemon)
  const total = 3000
  const writing = (async () => {
    for (let n = 0; n < total; n += 10) {
      await store.append(Array.from({ length: 10 }, (_, k) => said(k % 2 ? 's-aaaaaa' : 'other', `${n + k}`)))
    }
    await store.append([said('s-aaaaaa', 'end')])
  })()
  const texts: string[] = []
  let lastId: string | undefined
  for (let visit = 0; texts.at(-1) !== 'end'; visit += 1) {
    const stream = await daemon.stream('/events?session=s-aaaaaa&after=0', lastId ? { 'last-event-id': lastId } : {})
    let seen = 0
    for await (const event of stream) {
      assert.equal(event.subject, 's-aaaaaa')
      if (event.kind === 'agent.said') texts.push(event.body.text)
      lastId = String(event.id)
      seen += 1
      if (texts.at(-1) === 'end' || (visit < 12 && seen === 97)) break
    }
    stream.close()
  }
  await writing
  const odd = Array.from({ length: total / 2 }, (_, k) => String(2 * k + 1))
  assert.deepEqual(texts, [...odd, 'end'])
})

test('from now on means what has happened already is not told, whatever the client has seen', async () => {
  const daemon = await shared()
  await using store = await openStore({ file: daemon.paths.database })
  await store.append([said('a', 'before')])
  const stream = await daemon.stream('/events?from=now', { 'last-event-id': '0' })
  const [later] = await store.append([said('a', 'after')])
  const [event] = await stream.until(() => true)
  assert.equal(event?.id, later?.id)
  stream.close()
})

test('without a session the stream tells of everything, from where the client says', async () => {
  const daemon = await shared()
  await using store = await openStore({ file: daemon.paths.database })
  const [first, second] = await store.append([said('a', '1'), said('b', '2')])
  const stream = await daemon.stream(`/events?after=${first?.id}`)
  const [event] = await stream.until(() => true)
  assert.equal(event?.id, second?.id)
  stream.close()
})

test('a stream that cannot be is refused before it begins', async () => {
  const daemon = await shared()
  for (const [path, headers, code] of [
    ['/events?attach=1', {}, 'bad_request'],
    ['/events?session=nope', {}, 'session_unknown'],
    ['/events?after=-1', {}, 'bad_request'],
    ['/events?bogus=1', {}, 'bad_request'],
    ['/events', { 'last-event-id': 'x' }, 'bad_request'],
  ] as const) {
    const { body } = await daemon.call('GET', path, { headers })
    assert.equal(body.error.code, code, path)
  }
})

test('clients that do not read make the daemon hold no more than a page for each', async t => {
  const daemon = await startDaemon(t)
  await using store = await storeWithSession(daemon)
  const text = 'x'.repeat(20_000)
  for (let n = 0; n < 100; n += 1) await store.append(Array.from({ length: 50 }, () => said('s-aaaaaa', text)))
  const [last] = await store.append([said('s-aaaaaa', 'end')])
  const readAll = async () => {
    const reader = await daemon.stream('/events')
    await reader.until(({ id }) => id === last?.id)
    reader.close()
  }
  // The first reader grows the heap to what reading needs; any further growth is what is kept for the others.
  await readAll()
  const before = residentMb(daemon.pid)
  const token = readFileSync(daemon.paths.tokenFile, 'utf8').trim()
  for (let n = 0; n < 4; n += 1) {
    const sleepy = connect(daemon.paths.socket)
    t.after(() => sleepy.destroy())
    sleepy.write(`GET /events HTTP/1.1\r\nhost: pcc\r\nauthorization: Bearer ${token}\r\n\r\n`)
    await once(sleepy, 'readable')
  }
  await readAll()
  const grown = residentMb(daemon.pid) - before
  assert.ok(grown < 150, `400 MB waited for clients that do not read, and the daemon grew by ${grown} MB`)
})

test('every stream ends when the daemon does, after telling what happened last', async t => {
  const daemon = await startDaemon(t)
  const stream = await daemon.stream('/events')
  await stream.until(({ kind }) => kind === 'daemon.started')
  await daemon.call('POST', '/daemon/stop')
  const [stopped] = await stream.until(() => true)
  assert.equal(stopped?.kind, 'daemon.stopped')
  const rest = []
  for await (const event of stream) rest.push(event)
  assert.deepEqual(rest, [])
  assert.equal(await daemon.ended, 0)
})

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}
