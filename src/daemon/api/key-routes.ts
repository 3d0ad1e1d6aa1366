import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { CreateApiKey } from '../../domain/access.ts'
import { toIncident } from '../../domain/escalation.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from '../routes/errors.ts'
import { realOrGiven } from '../routes/tasks.ts'

const RotateKey = z.strictObject({ expires_at: z.int().positive().nullable().optional() })

const AuditQuery = z.strictObject({
  since: z.coerce.number().int().nonnegative().optional(),
  before: z.coerce.number().int().positive().optional(),
  caller: z.string().min(1).max(200).optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
})

const IncidentQuery = z.strictObject({ since: AuditQuery.shape.since })

/** Keys, the audit log and incidents. They are on the Unix socket only: no key can make another one. */
export function accessRoutes(app: FastifyInstance, { keys, store }: DaemonContext): void {
  app.get('/api-keys', async () => ({ keys: await keys.list() }))

  app.post('/api-keys', async (request, reply) => {
    const wanted = parseRequest(CreateApiKey, request.body, 'POST /api-keys')
    refusePast(wanted.expires_at)
    const project = wanted.project === undefined ? undefined : await realOrGiven(wanted.project)
    return reply.code(201).send(await keys.create({ ...wanted, project }))
  })

  app.post('/api-keys/:ref/revoke', async request => ({ key: await keys.revoke(refOf(request.params)) }))

  app.post('/api-keys/:ref/rotate', async request => {
    const { expires_at } = parseRequest(RotateKey, request.body ?? {}, 'POST /api-keys/:ref/rotate')
    refusePast(expires_at)
    return keys.rotate(refOf(request.params), expires_at)
  })

  app.get('/audit', async request => {
    const filter = parseRequest(AuditQuery, request.query, 'GET /audit')
    return { entries: await store.audit.list(filter) }
  })

  app.get('/incidents', async request => {
    const { since = 0 } = parseRequest(IncidentQuery, request.query, 'GET /incidents')
    const incidents = (await store.escalations.list()).flatMap(row => toIncident(row) ?? [])
    return { incidents: incidents.filter(({ last_at }) => last_at >= since).sort((a, b) => b.number - a.number) }
  })
}

function refOf(params: unknown): string {
  return (params as { ref: string }).ref
}

function refusePast(expires: number | null | undefined): void {
  if (typeof expires === 'number' && expires <= Date.now())
    throw new AppError('bad_request', { problem: 'The key would have expired already.' })
}
