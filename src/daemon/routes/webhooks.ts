import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { ListWebhooks, type WebhookDelivery, type WebhookView } from '../../domain/webhook.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from './errors.ts'

const Id = z.object({ id: z.string() })
const Name = z.object({ name: z.string().min(1).max(64) })

/** The messages that came by webhooks, and whether webhooks work. The messages themselves come in by the API alone. */
export function webhookRoutes(app: FastifyInstance, { store, webhooks }: DaemonContext): void {
  app.get('/webhooks', async request => {
    const rows = await store.webhooks.list(parseRequest(ListWebhooks, request.query, 'GET /webhooks'))
    return { messages: rows.map(toView) }
  })

  app.get('/webhooks/setup', async () => ({ webhooks: await webhooks.setups() }))

  app.get('/webhooks/:id', async request => {
    const id = readId(request.params)
    const row = await store.webhooks.get(id)
    if (!row) throw new AppError('webhook_message', { id })
    return { message: { ...toView(row), body: row.body } }
  })

  app.post('/webhooks/:id/retry', async request => {
    return { message: toView(await webhooks.retry(readId(request.params))) }
  })

  app.post('/webhooks/out/:name/test', async request => {
    const { name } = parseRequest(Name, request.params, 'POST /webhooks/out/:name/test')
    const sent = await webhooks.test(name)
    return { name, ok: sent.ok, problem: sent.ok ? null : sent.problem }
  })
}

/** A number that no message has is refused in the same way as a word. */
function readId(params: unknown): number {
  const { id } = parseRequest(Id, params, 'a webhook route')
  if (!/^[1-9]\d{0,14}$/.test(id)) throw new AppError('webhook_message', { id })
  return Number(id)
}

function toView({ digest: _, body: __, next_at: ___, ...view }: WebhookDelivery): WebhookView {
  return view
}
