import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type ApiRoute, Problem } from '../../../src/domain/api-v1/route.ts'
import { API_ROUTES, type RouteName } from '../../../src/domain/api-v1/routes.ts'
import { startDaemon } from '../daemon-process.ts'
import { callerWith, LISTENING } from './api-world.ts'
import { requestMaker, type WildRequest } from './make-requests.ts'

/** `PCC_FUZZ_REQUESTS=20000` is the long form, which also looks at memory, and opens a thousand connections and streams. */
const REQUESTS = Number(process.env['PCC_FUZZ_REQUESTS'] ?? 500)
const SEED = Number(process.env['PCC_FUZZ_SEED'] ?? 1)
const AT_ONCE = 6
/** Streams that are asked for beyond the limit. */
const TOO_MANY = 150
/** Memory may settle after the first part of the requests, and rises by no more than this in the rest. */
const MOST_GROWTH_MB = 40

test(`${REQUESTS} wild requests from the description of the API never meet an internal error, and every reply is as described`, async t => {
  const open = { PCC_API_REQUESTS_PER_MINUTE: '0', PCC_TASKS_QUEUE_SIZE: '1000000' }
  const daemon = await startDaemon(t, { env: { ...LISTENING, ...open } })
  const { call, address, secret } = await callerWith(daemon, { scope: 'admin' })
  const project = join(daemon.home, 'wild')
  mkdirSync(project)
  const refs: string[] = []
  for (let at = 0; at < 5; at++)
    refs.push((await call('POST', '/tasks', { body: { project, title: `T${at}` } })).body.id)
  const known = { project, refs: [...refs, '1'], key: secret }
  const next = requestMaker(SEED, known)
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  t.after(() => agent.destroy())

  const statuses = new Map<number, number>()
  const seen = new Set<string>()
  let settled = 0
  let sent = 0
  const work = async () => {
    while (sent++ < REQUESTS) {
      if (sent === Math.floor(REQUESTS / 4)) settled = residentMb(daemon.pid)
      const wild = next()
      const reply = await send(wild, { address, agent })
      if (!reply) continue
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
      if (reply.status < 300) seen.add(wild.operation)
      check(wild, reply)
      // Tasks are deleted too, so that there must be new ones.
      if (wild.operation === 'createTask' && reply.status === 201) known.refs.push(JSON.parse(reply.body).id)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  assert.ok((statuses.get(200) ?? 0) > REQUESTS / 10, `most are refused: ${JSON.stringify([...statuses])}`)
  assert.ok(seen.size > 15, `few routes were reached: ${[...seen].join(' ')}`)
  const log = readFileSync(join(daemon.paths.logs, 'daemon.log'), 'utf8')
  assert.doesNotMatch(log, /request failed|uncaught/)
  const growth = residentMb(daemon.pid) - settled
  if (REQUESTS >= 5_000) assert.ok(growth < MOST_GROWTH_MB, `memory rose by ${growth} MB`)
  t.diagnostic(
    `${JSON.stringify(Object.fromEntries(statuses))}, ${seen.size} routes answered, memory ${growth.toFixed(0)} MB`,
  )
  assert.equal((await call('GET', '/systems')).body.systems[0].status, 'ok')
})

/** The reply; undefined if the client left. */
async function send(
  { method, path, headers, body, isCut, operation }: WildRequest,
  { address, agent }: { address: string; agent: Agent },
): Promise<{ status: number; type: string; body: string } | undefined> {
  const asked = request(`${address}${path}`, {
    method,
    headers,
    agent: isCut || operation === 'followEvents' ? false : agent,
  })
  asked.on('error', () => {})
  if (isCut) {
    asked.setHeader('content-length', Buffer.byteLength(body ?? '') + 10)
    asked.write(body ?? '')
    asked.destroy()
    return undefined
  }
  asked.end(body)
  const answered = once(asked, 'response') as Promise<[IncomingMessage]>
  const [response] = await answered.catch(() => [undefined])
  if (!response) return undefined // the daemon may close a connection whose body it does not read
  const type = response.headers['content-type'] ?? ''
  if (type.startsWith('text/event-stream')) {
    asked.destroy()
    return undefined
  }
  return { status: response.statusCode ?? 0, type, body: await text(response).catch(() => '') }
}

function check(wild: WildRequest, { status, type, body }: { status: number; type: string; body: string }): void {
  const what = `${wild.method} ${wild.path} ${wild.body?.slice(0, 300)} -> ${status} ${body.slice(0, 300)}`
  assert.ok(status < 500, what)
  if (status === 304 || body === '') return
  if (status >= 400) {
    assert.match(type, /^application\/problem\+json/, what)
    Problem.parse(JSON.parse(body))
    return
  }
  const route: ApiRoute | undefined = API_ROUTES[wild.operation as RouteName]
  const parsed = route?.reply.safeParse(JSON.parse(body))
  assert.ok(parsed?.success ?? true, `${what}\n${parsed?.error}`)
}

function residentMb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

test('hundreds of silent connections, half requests, streams and those beyond their limit leave room for others', async t => {
  const isLong = REQUESTS >= 5_000
  const [idle, most] = isLong ? [1_000, 1_000] : [200, 20]
  const limits = { PCC_API_MAX_STREAMS: String(most), PCC_API_REQUESTS_PER_MINUTE: '0' }
  const daemon = await startDaemon(t, { env: { ...LISTENING, ...limits } })
  const { call, address, secret } = await callerWith(daemon, { scope: 'work' })
  const port = Number(new URL(address).port)
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let at = 0; at < idle; at++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    if (at % 3 === 1) socket.write('GET /api/v1/tasks HTTP/1.1\r\nHost: ')
    if (at % 3 === 2)
      socket.write(`POST /api/v1/tasks HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 100\r\n\r\n{`)
  }
  await Promise.all(sockets.map(socket => (socket.connecting ? once(socket, 'connect') : undefined)))
  assert.equal((await call('GET', '/systems')).status, 200)
  for (const socket of sockets) socket.destroy()
  const heard = Promise.withResolvers<void>()
  let told = 0
  const streams = Array.from({ length: most + TOO_MANY }, async () => {
    const asked = request(`${address}/api/v1/events`, { headers: { authorization: `Bearer ${secret}` }, agent: false })
    t.after(() => asked.destroy())
    asked.on('error', () => {}).end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response
      .on('error', () => {})
      .on('data', piece => {
        if (String(piece).includes('event: task.submitted') && ++told === most) heard.resolve()
      })
    return response.statusCode
  })
  const answers = await Promise.all(streams)
  assert.deepEqual(
    [200, 429].map(status => answers.filter(answer => answer === status).length),
    [most, TOO_MANY],
  )
  assert.equal((await call('POST', '/tasks', { body: { project: daemon.home, title: 'Heard by all' } })).status, 201)
  await heard.promise
})
