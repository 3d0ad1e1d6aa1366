import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { EventHub, type StreamFilter } from '../../../src/daemon/api/event-hub.ts'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { openStore } from '../../../src/store/open.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { tempDir } from '../../support/world.ts'

interface Asked extends StreamFilter {
  after?: number | undefined
  isWelcome?: () => Promise<boolean>
}

async function hubWorld(t: TestContext, options: { maxStreams?: number; heartbeatMs?: number; drainMs?: number } = {}) {
  const store = await openStore({ file: join(tempDir(t), 'pcc.db') })
  const closing = new AbortController()
  const hub = new EventHub({
    ...{ store, maxStreams: 10, closing: closing.signal, failed: (error: unknown) => assert.fail(String(error)) },
    ...options,
  })
  const wanted: Asked[] = []
  const server = createServer((_, response: ServerResponse) => {
    const { after, isWelcome = async () => true, ...filter } = wanted.shift() ?? {}
    void hub.serve({ response, after, isWelcome, ...filter })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
    await store.close()
  })
  const { port } = server.address() as AddressInfo
  const open = async (asked: Asked = {}) => {
    wanted.push(asked)
    const sent = request({ host: '127.0.0.1', port, agent: false })
    sent.on('error', () => {}).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.setEncoding('utf8').on('error', () => {})
    return { response, close: () => sent.destroy() }
  }
  const note = (text: string, subject = 'daemon') =>
    store.append([{ actor: 'daemon', subject, kind: 'session.noted', body: { text } }])
  return { store, hub, open, note, closing }
}

const closed = (response: IncomingMessage) => new Promise(resolve => response.once('close', resolve))

/** Reads so many events. */
function take(response: IncomingMessage, count: number): Promise<StoredEvent[]> {
  const { promise, resolve, reject } = Promise.withResolvers<StoredEvent[]>()
  const seen: StoredEvent[] = []
  let rest = ''
  const read = (piece: string) => {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: ')) seen.push(JSON.parse(line.slice(6)) as StoredEvent)
    if (seen.length < count) return
    response.off('data', read).pause()
    resolve(seen.slice(0, count))
  }
  response.on('data', read).once('close', () => reject(new Error(`closed after ${seen.length} events`)))
  return promise
}

const texts = (events: StoredEvent[]) => events.map(({ body }) => (body as { text: string }).text)

test('a client gets what comes, and one that resumes gets what it missed, in order and once', async t => {
  const { open, note } = await hubWorld(t)
  const fresh = await open()
  for (let at = 0; at < 1_200; at++) await note(`${at}`)
  const events = await take(fresh.response, 1_200)
  assert.deepEqual(
    texts(events),
    Array.from({ length: 1_200 }, (_, at) => `${at}`),
  )
  const late = await open({ after: events[99]?.id })
  const adding = (async () => {
    for (let at = 1_200; at < 1_300; at++) await note(`${at}`)
  })()
  const caught = await take(late.response, 1_200)
  await adding
  assert.deepEqual(
    texts(caught),
    Array.from({ length: 1_200 }, (_, at) => `${at + 100}`),
  )
})

test('a stream is filtered by project, by subject and by kind', async t => {
  const { store, open, note } = await hubWorld(t)
  const tasks = openTasks({ store, clock: { now: Date.now } })
  const submit = (project: string, text: string) =>
    store.transaction(tx => tasks.submit({ session_id: null, project, text }, tx))
  const [here, there] = [await submit('/here', 'a'), await submit('/there', 'b')]
  const inProject = await open({ project: '/here', after: 0 })
  const bySubject = await open({ subject: there.id })
  const byKind = await open({ isWanted: kind => kind.startsWith('task.'), after: 0 })
  await note('of nobody')
  await note('of there', there.id)
  await note('of here', here.id)
  assert.deepEqual(
    (await take(inProject.response, 2)).map(({ subject, kind }) => [subject, kind]),
    [
      [here.id, 'task.submitted'],
      [here.id, 'session.noted'],
    ],
  )
  assert.deepEqual(texts(await take(bySubject.response, 1)), ['of there'])
  await submit('/here', 'c')
  assert.deepEqual(
    (await take(byKind.response, 3)).map(({ kind }) => kind),
    Array(3).fill('task.submitted'),
  )
})

test('with a project, events of its schedules and of observed sessions are sent too', async t => {
  const { store, open, note } = await hubWorld(t)
  const times = { at: null, every: 'day 23:00', quota_below: null, zone: 'UTC', pattern: '0 23 * * *', due_at: 2 }
  for (const [id, project] of [
    ['c-1', '/here'],
    ['c-2', '/there'],
  ] as const) {
    const row = {
      id,
      project,
      target: { kind: 'project' as const },
      options: {},
      state: 'waiting' as const,
      created_at: 1,
    }
    const none = { fired: 0, reason: null, last_fired_at: null, last_run_id: null }
    await store.transaction(tx => store.schedules.insert({ ...row, ...times, ...none }, tx))
  }
  const seen = { id: 'e-1', vendor: 'claude' as const, session: 'v-1', project: '/here' }
  const body = { ...seen, type: 'session_start' as const, agent_id: 'a', working_directory: '/here' }
  const about = { pid: null, start_time: null, model: null }
  await store.observed.capture([{ at: 1, subject: 'o-1', about, body }])
  const inProject = await open({ project: '/here' })
  await note('of there', 'c-2')
  await note('of the schedule', 'c-1')
  await note('of the observed session', 'o-1')
  const tasks = openTasks({ store, clock: { now: Date.now } })
  const submit = (text: string) =>
    store.transaction(tx => tasks.submit({ session_id: null, project: '/here', text }, tx))
  for (const text of ['a', 'b']) await submit(text)
  assert.deepEqual(
    (await take(inProject.response, 2)).map(({ subject }) => subject),
    ['c-1', 'o-1'],
  )
})

test('a client that does not read is closed, the others hear everything, and nothing is kept for it', async t => {
  const { hub, open, note } = await hubWorld(t)
  const slow = await open()
  slow.response.pause()
  const gone = closed(slow.response)
  const quick = await open()
  const reading = take(quick.response, 400)
  const page = 'x'.repeat(50_000)
  for (let at = 0; at < 400; at++) await note(page)
  assert.equal((await reading).length, 400)
  assert.equal(hub.open, 1, 'only the quick one is left')
  slow.response.resume()
  await gone
})

test('a client that does not read what it missed is closed, and nothing is kept for it', {
  timeout: 60_000,
}, async t => {
  const { hub, open, note } = await hubWorld(t, { drainMs: 20, heartbeatMs: 1_000_000 })
  const page = 'x'.repeat(50_000)
  await Promise.all(Array.from({ length: 400 }, () => note(page)))
  const slow = await open({ after: 0 })
  slow.response.pause()
  while (hub.open > 0) await new Promise(resolve => setImmediate(resolve))
  await closed(slow.response.resume())
})

test('no more streams than allowed are open, and a closed one makes room', async t => {
  const { hub, open } = await hubWorld(t, { maxStreams: 2 })
  const first = await open()
  await open()
  assert.throws(() => hub.refuseTooMany(), { code: 'too_many_streams' })
  first.close()
  await closed(first.response)
  while (hub.open > 1) await new Promise(resolve => setImmediate(resolve))
  assert.doesNotThrow(() => hub.refuseTooMany())
})

test('a stream whose key does not count any more ends, and at the end of the daemon the last events are still sent', async t => {
  const { hub, open, note, closing } = await hubWorld(t, { heartbeatMs: 20 })
  let isValid = true
  const revoked = await open({ isWelcome: async () => isValid })
  const staying = await open()
  isValid = false
  await closed(revoked.response.resume())
  const gone = closed(staying.response)
  await note('the last one')
  closing.abort()
  let heard = ''
  for await (const piece of staying.response) heard += piece
  assert.match(heard, /"text":"the last one"/)
  await gone
  assert.equal(hub.open, 0)
})
