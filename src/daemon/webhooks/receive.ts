import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { sendProblem } from '../api/problems.ts'
import { type CallerLimit, openRateLimit } from '../api/rate-limit.ts'
import type { DaemonContext } from '../context.ts'
import type { ReadWebhooks, WebhookDoor } from './settings.ts'
import { checkMessage } from './signature.ts'

/** GitHub allows 25 MB, and what pcc acts on has a few kilobytes. */
const MAX_BODY_BYTES = 1_000_000
/** Messages that may be read at once: with `MAX_BODY_BYTES`, the most memory that strangers can fill. */
const MOST_AT_ONCE = 50
/** Whoever has not sent the whole message by then is slow on purpose. GitHub itself waits no longer for an answer. */
const PATIENCE_MS = 10_000
/** How often a refused signature is logged, at most: a stranger chooses how often it happens. */
const LOGGED_EVERY_MS = 60_000

const WEBHOOK_ROUTE = '/webhook/:name'

/**
 * Takes messages of other programs. There is no key: each message is signed. It is stored before it is answered, and worked on
 * after that. Until the signature is checked a message costs some memory for a moment, and nothing else.
 */
export async function addWebhookRoutes(app: FastifyInstance, deps: ReceiveDeps): Promise<void> {
  const { webhooks, store, log } = deps
  const places = openPlaces(deps)
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
        onRequest: async (request, reply) => {
          await findDoor(request.params.name, await webhooks.read())
          places.take(request, reply)
        },
        preHandler: async request => places.leave(request),
      },
      async (request, reply) => {
        const read = await webhooks.read()
        const { settings } = read
        const door = await findDoor(request.params.name, read)
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

export interface ReceiveDeps extends Pick<DaemonContext, 'webhooks' | 'store' | 'log'> {
  /** Where a request comes from. */
  senderOf(request: FastifyRequest): string
  patienceMs?: number
}

async function findDoor(name: string, { doors }: ReadWebhooks): Promise<WebhookDoor & { secret: string }> {
  const door = doors.find(one => one.name === name)
  if (!door) throw new AppError('webhook_unknown', { name: name.slice(0, 60) })
  const { secret } = await door.readSecret()
  if (secret === undefined) throw new AppError('webhook_secret', { name })
  return { ...door, secret }
}

interface PendingBody {
  sender: string
  /** Answers with this error, and hears no more. */
  end(error: AppError): void
}

/**
 * The places of messages whose bytes are still to come. Nobody knows yet who signed them, so nobody is refused one: if all are taken,
 * the oldest of the sender that has most gives way. What is signed is there in a moment; what is slow on purpose ends itself.
 */
function openPlaces({ senderOf, patienceMs = PATIENCE_MS }: ReceiveDeps) {
  const taken = new Map<FastifyRequest, PendingBody>()
  return {
    take(request: FastifyRequest, reply: FastifyReply) {
      if (taken.size >= MOST_AT_ONCE) findGreediest().end(new AppError('webhook_busy', { most: MOST_AT_ONCE }))
      const timer = setTimeout(() => end(new AppError('webhook_slow', { seconds: patienceMs / 1000 })), patienceMs)
      const end = (error: AppError) => {
        taken.delete(request)
        void sendProblem(reply.header('connection', 'close'), error)
        reply.raw.once('finish', () => request.raw.destroy())
      }
      taken.set(request, { sender: senderOf(request), end })
      reply.raw.once('close', () => {
        clearTimeout(timer)
        taken.delete(request)
      })
      request.raw.once('end', () => clearTimeout(timer))
    },
    leave: (request: FastifyRequest) => void taken.delete(request),
  }

  function findGreediest(): PendingBody {
    const bySender = Map.groupBy(taken.values(), ({ sender }) => sender)
    const most = [...bySender.values()].reduce((a, b) => (b.length > a.length ? b : a))
    return most[0] as PendingBody
  }
}

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
