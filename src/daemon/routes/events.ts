import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { checked } from '../http/errors.ts'
import { streamEvents } from '../http/stream.ts'
import type { World } from '../world.ts'

const id = z.coerce.number().int().min(0)

const Query = z.strictObject({
  session: z.string().min(1).optional(),
  after: id.optional(),
  /** Only what happens from here on. */
  from: z.literal('now').optional(),
  attach: z.enum(['0', '1']).optional(),
})

/** Everything that happens, as it happens; with `attach=1` the connection is a person at the session's terminal. */
export function eventRoutes(app: FastifyInstance, world: World): void {
  app.get('/events', async (request, reply) => {
    const query = checked(Query, request.query, 'GET /events')
    const attach = query.attach === '1'
    if (attach && query.session === undefined) {
      throw new AppError('bad_request', { route: 'GET /events', problem: 'attach: needs a session' })
    }
    const row = query.session === undefined ? undefined : await world.store.sessions.resolve(query.session)
    const lastSeen = request.headers['last-event-id']
    // A client that reconnects knows best how far it came.
    const seen = lastSeen === undefined ? (query.after ?? 0) : checked(id, lastSeen, 'GET /events Last-Event-ID')
    const after = query.from === 'now' ? Math.max(seen, await newestId(world)) : seen
    reply.hijack()
    const leave = attach && row ? world.terminals.attach(row.id) : () => {}
    const stream = streamEvents(reply.raw, { after, subject: row?.id, store: world.store, closing: world.settled })
    world.streams.add(stream)
    await stream
      .catch(error => world.log.warn({ error }, 'event stream failed'))
      .finally(() => {
        world.streams.delete(stream)
        leave()
      })
  })
}

async function newestId({ store }: World): Promise<number> {
  const [newest] = await store.events({ tail: 1 })
  return newest?.id ?? 0
}
