import type { FastifyInstance } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { type CallerLimit, openRateLimit } from '../api/rate-limit.ts'
import type { DaemonContext } from '../context.ts'
import { checkMessage } from './signature.ts'

/** GitHub allows 25 MB, and what pcc acts on has a few kilobytes. */
const MAX_BODY_BYTES = 1_000_000
/** Messages that may be read at once: with `MAX_BODY_BYTES`, the most memory that strangers can fill. */
const MOST_AT_ONCE = 50
/** How often a refused signature is logged, at most: a stranger chooses how often it happens. */
const LOGGED_EVERY_MS = 60_000

const WEBHOOK_ROUTE = '/webhook/:name'

/**
 * Takes messages of other programs. There is no key: each message is signed. It is stored before it is answered, and worked on
 * after that. Until the signature is checked a message costs some memory for a moment, and nothing else.
 */
export async function addWebhookRoutes(app: FastifyInstance, { webhooks, store, log }: ReceiveDeps): Promise<void> {
  let atOnce = 0
  let loggedAt = 0
  let limit: { perMinute: number; rates: CallerLimit } | undefined
  await app.register(async own => {
    own.removeAllContentTypeParsers()
    own.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    own.post<{ Params: { name: string } }>(
      WEBHOOK_ROUTE,
      {
        bodyLimit: MAX_BODY_BYTES,
        // Nobody's key stands behind a message, so the audit log has no row; the list of messages has one.
        config: { route: { readOnly: true } },
        onRequest: async (_request, reply) => {
          if (atOnce >= MOST_AT_ONCE) throw new AppError('webhook_busy', { most: MOST_AT_ONCE })
          atOnce += 1
          reply.raw.once('close', () => {
            atOnce -= 1
          })
        },
      },
      async (request, reply) => {
        const { settings, doors } = await webhooks.read()
        const door = doors.find(({ name }) => name === request.params.name)
        if (!door) throw new AppError('webhook_unknown', { name: request.params.name.slice(0, 60) })
        if (door.secret === undefined) throw new AppError('webhook_secret', { name: door.name })
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        const now = Date.now()
        const message = { headers: request.headers, body }
        const checked = checkMessage(message, { secret: door.secret, kind: door.kind, now })
        if ('problem' in checked) {
          if (now - loggedAt > LOGGED_EVERY_MS) log.warn({ webhook: door.name, why: checked.why }, 'message refused')
          loggedAt = now - loggedAt > LOGGED_EVERY_MS ? now : loggedAt
          const code = checked.problem === 'late' ? 'webhook_late' : 'webhook_signature'
          throw new AppError(code, { name: door.name, why: checked.why })
        }
        const { requests_per_minute: perMinute } = settings
        if (limit?.perMinute !== perMinute) limit = { perMinute, rates: openRateLimit(perMinute) }
        limit.rates.count(`The webhook ${door.name}`)
        const { delivery, digest, event } = checked
        const row = { source: door.name, delivery, digest, event, body: readJson(body, door.name), received_at: now }
        const stored = await store.webhooks.add(row, settings.queue_size)
        if (stored === 'full') throw new AppError('webhook_queue_full', { limit: settings.queue_size })
        if (stored === 'new') webhooks.received()
        return reply.code(stored === 'new' ? 202 : 200).send({ status: stored === 'new' ? 'queued' : 'known' })
      },
    )
  })
}

type ReceiveDeps = Pick<DaemonContext, 'webhooks' | 'store' | 'log'>

/** The text of a body that is JSON. It is stored as it came. */
function readJson(body: Buffer, name: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    JSON.parse(text)
    return text
  } catch {
    throw new AppError('webhook_body', { name })
  }
}
