import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { StartSession, SwitchApi } from '../../domain/api.ts'
import { API_PATH } from '../../domain/api-v1/route.ts'
import type { ApiControl } from '../api/control.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from './errors.ts'
import { sessionActions } from './session-control.ts'
import { findSession, viewSession } from './sessions.ts'

/** The API on the Unix socket, and the switch for its TCP side. */
export function apiRoutes(app: FastifyInstance, api: ApiControl): void {
  app.get('/daemon/api', () => api.status())

  app.post('/daemon/api', async request => {
    const { on, env } = parseRequest(SwitchApi, request.body, 'POST /daemon/api')
    return on ? api.on(env) : api.off()
  })

  // The request is handed over unread: the API has limits, errors and an audit log of its own.
  app.route({
    method: ['GET', 'POST', 'PATCH', 'DELETE'],
    url: `${API_PATH}/*`,
    onRequest: async (request, reply) => {
      const answer = await api.forOwner()
      reply.hijack()
      answer(request.raw, reply.raw)
    },
    handler: () => undefined,
  })
}

const KillAgent = z.strictObject({ session: z.string().min(1) })

/** What only programs of this machine may ask, by the names that older tools know. None of it is answered over TCP. */
export function internalRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.post('/internal/spawn-agent', async (request, reply) => {
    const row = await daemon.supervisor.start(parseRequest(StartSession, request.body, 'POST /internal/spawn-agent'))
    return reply.code(201).send(viewSession(row, daemon))
  })

  app.post('/internal/kill-agent', async request => {
    const { session } = parseRequest(KillAgent, request.body, 'POST /internal/kill-agent')
    return sessionActions(daemon).stop(await findSession({ ref: session }, daemon))
  })

  app.get('/internal/agent-status', async () => {
    const agents = (await daemon.store.sessions.list({ only: 'live' })).map(row => viewSession(row, daemon))
    return {
      agents: agents.map(({ id, project, agent, status, activity }) => ({ id, project, agent, status, activity })),
    }
  })
}
