import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { Store } from '../../store/store.ts'
import { formatEvent } from '../api/event-hub.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from './errors.ts'

const id = z.coerce.number().int().min(0)

const Query = z.strictObject({
  session: z.string().min(1).optional(),
  after: id.optional(),
  /** Only events from now on. */
  from: z.literal('now').optional(),
  attach: z.enum(['0', '1']).optional(),
})

/** The live stream of events; with `attach=1` the connection counts as a person at the session's terminal. */
export function eventRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/events', async (request, reply) => {
    const query = parseRequest(Query, request.query, 'GET /events')
    const attach = query.attach === '1'
    if (attach && query.session === undefined) {
      throw new AppError('bad_request', { problem: 'attach needs a session' })
    }
    const row = query.session === undefined ? undefined : await daemon.store.sessions.resolve(query.session)
    const lastSeen = request.headers['last-event-id']
    // A client that reconnects sends the last event that it got.
    const seen = lastSeen === undefined ? (query.after ?? 0) : parseRequest(id, lastSeen, 'GET /events Last-Event-ID')
    const after = query.from === 'now' ? Math.max(seen, await newestId(daemon)) : seen
    reply.hijack()
    const leave = attach && row ? daemon.terminals.attach(row.id) : () => {}
    const stream = streamEvents(reply.raw, { after, subject: row?.id, store: daemon.store, closing: daemon.settled })
    daemon.streams.add(stream)
    await stream
      .catch(error => daemon.log.warn({ error }, 'event stream failed'))
      .finally(() => {
        daemon.streams.delete(stream)
        leave()
      })
  })
}

async function newestId({ store }: DaemonContext): Promise<number> {
  const [newest] = await store.events({ tail: 1 })
  return newest?.id ?? 0
}

export interface StreamOptions {
  /** Id of the last event the client has. */
  after: number
  subject: string | undefined
  store: Store
  /** Aborted when the daemon ends: events that are stored by then are still sent. */
  closing: AbortSignal
}

/** Events read at once for a client that is behind when the daemon ends. */
const PAGE = 200

/** Slow enough to cost nothing, fast enough that a dead connection is noticed within a minute. */
const HEARTBEAT_MS = 20_000

/**
 * Server-sent events, read from the store by cursor: for a client that reads slowly we read slowly, and nothing is buffered in
 * memory. Returns when the client has disconnected or the daemon ends.
 */
async function streamEvents(response: ServerResponse, options: StreamOptions): Promise<void> {
  const { subject, store, closing } = options
  const disconnected = new AbortController()
  response.on('close', () => disconnected.abort())
  response.on('error', () => disconnected.abort())
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    connection: 'keep-alive',
  })
  response.write(': hello\n\n')
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(': still here\n\n')
  }, HEARTBEAT_MS)
  heartbeat.unref()

  let last = options.after
  const send = async (event: StoredEvent) => {
    last = event.id
    if (!response.write(formatEvent(event))) await waitForDrain(response, disconnected.signal)
  }
  try {
    const signal = AbortSignal.any([disconnected.signal, closing])
    for await (const event of store.follow(last, { subject, signal })) await send(event)
    while (!disconnected.signal.aborted) {
      const rest = await store.events({ subject, after: last, limit: PAGE })
      for (const event of rest) await send(event)
      if (rest.length < PAGE) break
    }
  } finally {
    clearInterval(heartbeat)
    response.end()
  }
}

async function waitForDrain(response: ServerResponse, disconnected: AbortSignal): Promise<void> {
  await once(response, 'drain', { signal: disconnected }).catch(() => {
    // The client disconnected; the loop sees the same signal and ends.
  })
}
