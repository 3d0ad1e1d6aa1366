import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify'
import { AppError, type ErrorCode } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Problem } from '../../domain/api-v1/route.ts'
import { toAppError } from '../routes/errors.ts'

/** Errors that pass by themselves, and after how many seconds it is worth trying again. */
const RETRY_AFTER_SECONDS: Partial<Record<ErrorCode, number>> = {
  queue_full: 30,
  webhook_busy: 5,
  webhook_queue_full: 60,
  webhook_secret: 60,
  too_many_streams: 30,
  line_full: 30,
  disk_full: 60,
  daemon_stopping: 5,
  place_busy: 5,
}

/** Every error of the API is sent as `application/problem+json` with the code of the one table; an unexpected one is also logged. */
export function installProblems(app: FastifyInstance, log: Log): void {
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const problem = toAppError(error)
    const route = `${request.method} ${request.routeOptions.url ?? request.url.split('?')[0]}`
    if (problem.code === 'internal') log.error({ error, route, request: request.id }, 'request failed')
    // 413 and 415 say more than the 400 of `bad_request`.
    return sendProblem(reply, problem, problem.code === 'bad_request' ? error.statusCode : undefined)
  })
  app.setNotFoundHandler((request, reply) =>
    sendProblem(reply, new AppError('not_found', { route: `${request.method} ${request.url.split('?')[0]}` })),
  )
}

/** Sends an error. What went wrong inside the daemon is in its log and nowhere else. */
export function sendProblem(reply: FastifyReply, error: AppError, status = error.http): FastifyReply {
  const seconds = error.detail['seconds'] ?? RETRY_AFTER_SECONDS[error.code]
  if (seconds !== undefined && status >= 429) reply.header('retry-after', String(seconds))
  // What is left of a body that was not read would be taken for the next request.
  if (status === 413 || status === 415 || status === 408) reply.header('connection', 'close')
  const problem: Problem = {
    type: `urn:pcc:error:${error.code}`,
    title: error.code.replaceAll('_', ' '),
    status,
    detail: error.code === 'internal' ? 'Something went wrong inside the daemon.' : error.message,
    code: error.code,
    next: error.next,
  }
  return reply.code(status).type('application/problem+json').send(JSON.stringify(problem))
}
