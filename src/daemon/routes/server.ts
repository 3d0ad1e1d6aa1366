import { randomUUID } from 'node:crypto'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError, toErrorReply } from '../../base/errors.ts'
import { OWNER } from '../../domain/access.ts'
import { installAudit } from '../api/audit.ts'
import { healthRoutes } from '../api/health.ts'
import { accessRoutes } from '../api/key-routes.ts'
import { metricsRoutes } from '../api/metrics.ts'
import type { DaemonContext } from '../context.ts'
import { openSpeakerCheck } from '../speakers.ts'
import { toolRoutes } from './agent-calls.ts'
import { internalRoutes } from './api.ts'
import { codeRoutes } from './code.ts'
import { acceptedFileRoutes, daemonRoutes, reportRoutes, secretRoutes } from './daemon.ts'
import { installErrors } from './errors.ts'
import { answerRoutes, escalationRoutes, rememberedRoutes } from './escalations.ts'
import { eventRoutes } from './events.ts'
import { featureRoutes } from './features.ts'
import { HOOK_ROUTE, hasToken, installGuard } from './guard.ts'
import { hookLogRoutes, hookRoutes } from './hooks.ts'
import { journalRoutes, runRoutes } from './runs.ts'
import { checkpointRoutes, sessionControlRoutes } from './session-control.ts'
import { sessionRoutes } from './sessions.ts'
import { graphRoutes, queueRoutes } from './task-graph.ts'
import { briefRoutes, proposalRoutes, taskRoutes } from './tasks.ts'
import { budgetRoutes, quotaRoutes } from './usage.ts'
import { webhookRoutes } from './webhooks.ts'
import { gateRoutes, mergeRoutes, workRoutes, worktreeRoutes } from './workspace.ts'

/** A task may have a million characters, and JSON escapes some of them with six. */
const MAX_BODY_BYTES = 8_000_000

/** The HTTP server, not yet listening. */
export function buildServer(daemon: DaemonContext): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    genReqId: () => randomUUID(),
    forceCloseConnections: true,
    // Idle connections on our own socket cost nothing; the client closes them.
    keepAliveTimeout: 5_000,
    routerOptions: { maxParamLength: 200 },
    frameworkErrors: (_error, _request, reply: FastifyReply) => refuseUnreadablePath(reply),
  })
  installErrors(app, daemon.log)
  const speakers = openSpeakerCheck(daemon)
  installGuard(app, daemon.token, speakers)
  sendVersion(app, daemon)
  acceptOnlyJson(app)
  installAudit(app, { ...daemon, callerOf: request => (isByPerson(request) ? OWNER : undefined) })
  healthRoutes(app, daemon)
  metricsRoutes(app, daemon)
  accessRoutes(app, daemon)
  daemonRoutes(app, daemon)
  acceptedFileRoutes(app, daemon)
  secretRoutes(app, daemon)
  sessionRoutes(app, daemon)
  sessionControlRoutes(app, daemon)
  answerRoutes(app, daemon, speakers)
  rememberedRoutes(app, daemon)
  checkpointRoutes(app, daemon)
  escalationRoutes(app, daemon, speakers)
  eventRoutes(app, daemon)
  quotaRoutes(app, daemon)
  budgetRoutes(app, daemon)
  queueRoutes(app, daemon)
  taskRoutes(app, daemon)
  gateRoutes(app, daemon)
  proposalRoutes(app, daemon)
  briefRoutes(app, daemon)
  graphRoutes(app, daemon)
  workRoutes(app, daemon)
  runRoutes(app, daemon)
  worktreeRoutes(app, daemon)
  mergeRoutes(app, daemon)
  journalRoutes(app, daemon)
  codeRoutes(app, daemon)
  reportRoutes(app, daemon)
  featureRoutes(app, daemon)
  toolRoutes(app, daemon, speakers)
  hookRoutes(app, daemon)
  hookLogRoutes(app, daemon)
  internalRoutes(app, daemon)
  webhookRoutes(app, daemon)
  return app
}

/** Calls of agents and their hooks are events of their sessions, and a key press at a terminal changes nothing that lasts. */
function isByPerson({ routeOptions: { url = '' } }: FastifyRequest): boolean {
  return url !== HOOK_ROUTE && !url.startsWith('/agent/') && url !== '/sessions/:ref/presence'
}

/** Runs before any hook, the guard included, so the reply says only that the path is wrong. */
function refuseUnreadablePath(reply: FastifyReply): void {
  const error = new AppError('bad_request', { problem: 'The path of the request cannot be read.' })
  reply.code(error.http).send(toErrorReply(error))
}

/** After an update the daemon is older than its clients: each reply names its version, so that clients can warn the person. */
function sendVersion(app: FastifyInstance, { token, version }: DaemonContext): void {
  app.addHook('onRequest', async (request, reply) => {
    if (hasToken(request, token)) reply.header('x-pcc-version', version)
  })
}

/** Bodies are JSON or absent. */
function acceptOnlyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined)
    parse(request, body as string, done)
  })
}
