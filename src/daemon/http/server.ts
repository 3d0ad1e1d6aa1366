import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { hookRoutes } from '../hooks/hook-routes.ts'
import { rememberedRoutes } from '../human/remembered-routes.ts'
import { toolRoutes } from '../mcp/tool-routes.ts'
import { answerRoutes } from '../routes/answers.ts'
import { budgetRoutes } from '../routes/budget.ts'
import { checkpointRoutes } from '../routes/checkpoints.ts'
import { daemonRoutes } from '../routes/daemon.ts'
import { escalationRoutes } from '../routes/escalations.ts'
import { eventRoutes } from '../routes/events.ts'
import { featureRoutes } from '../routes/features/feature-routes.ts'
import { quotaRoutes } from '../routes/quota.ts'
import { reportRoutes } from '../routes/report.ts'
import { journalRoutes } from '../routes/runs/journal-routes.ts'
import { runRoutes } from '../routes/runs/run-routes.ts'
import { sessionRoutes } from '../routes/sessions.ts'
import { steerRoutes } from '../routes/steer.ts'
import { briefRoutes } from '../routes/tasks/brief-routes.ts'
import { graphRoutes } from '../routes/tasks/graph-routes.ts'
import { proposalRoutes } from '../routes/tasks/proposal-routes.ts'
import { queueRoutes } from '../routes/tasks/queue-routes.ts'
import { taskRoutes } from '../routes/tasks/task-routes.ts'
import { gateRoutes } from '../routes/workspace/gate-routes.ts'
import { mergeRoutes } from '../routes/workspace/merge-routes.ts'
import { workRoutes } from '../routes/workspace/work-routes.ts'
import { worktreeRoutes } from '../routes/workspace/worktree-routes.ts'
import type { World } from '../world.ts'
import { errorReply } from './error-reply.ts'
import { installErrors } from './errors.ts'
import { hasToken, installGuard } from './guard.ts'

/** A task may be a million characters, and JSON writes some of them in six. */
const MAX_BODY_BYTES = 8_000_000

/** The HTTP server, not yet listening. */
export function buildServer(world: World): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    forceCloseConnections: true,
    // Idle connections cost nothing on a socket of our own; the client closes them.
    keepAliveTimeout: 5_000,
    routerOptions: { maxParamLength: 200 },
    frameworkErrors: (_error, _request, reply: FastifyReply) => unreadablePath(reply),
  })
  installErrors(app, world.log)
  installGuard(app, world.token)
  tellVersion(app, world)
  jsonOnly(app)
  daemonRoutes(app, world)
  sessionRoutes(app, world)
  steerRoutes(app, world)
  answerRoutes(app, world)
  rememberedRoutes(app, world)
  checkpointRoutes(app, world)
  escalationRoutes(app, world)
  eventRoutes(app, world)
  quotaRoutes(app, world)
  budgetRoutes(app, world)
  queueRoutes(app, world)
  taskRoutes(app, world)
  gateRoutes(app, world)
  proposalRoutes(app, world)
  briefRoutes(app, world)
  graphRoutes(app, world)
  workRoutes(app, world)
  runRoutes(app, world)
  worktreeRoutes(app, world)
  mergeRoutes(app, world)
  journalRoutes(app, world)
  reportRoutes(app, world)
  featureRoutes(app, world)
  toolRoutes(app, world)
  hookRoutes(app, world)
  return app
}

/** Answered before any hook runs, so nothing is told but that it is wrong. */
function unreadablePath(reply: FastifyReply): void {
  const error = new AppError('bad_request', { route: 'this daemon', problem: 'the path cannot be read' })
  reply.code(error.http).send(errorReply(error))
}

/** After an update the daemon is older than its clients: each answer says what it is, so that they can tell the person. */
function tellVersion(app: FastifyInstance, { token, version }: World): void {
  app.addHook('onRequest', async (request, reply) => {
    if (hasToken(request, token)) reply.header('x-pcc-version', version)
  })
}

/** Bodies are JSON or absent. */
function jsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined)
    parse(request, body as string, done)
  })
}
