import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify'
import type * as z from 'zod'
import { AppError, issueText, messageOf, toErrorReply } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'

/** Every error is sent as an `ErrorReply` with the status of its code; an unexpected one is also logged and sent in one line. */
export function installErrors(app: FastifyInstance, log: Log): void {
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const route = `${request.method} ${request.url.split('?')[0]}`
    const problem = toAppError(error)
    if (problem.code === 'internal') log.error({ error, route }, 'request failed')
    // 413 and 415 say more than the 400 of `bad_request`.
    const status = problem.code === 'bad_request' ? (error.statusCode ?? problem.http) : problem.http
    return send(reply, problem, status)
  })
  app.setNotFoundHandler((request, reply) => {
    const error = new AppError('not_found', { route: `${request.method} ${request.url.split('?')[0]}` })
    return send(reply, error, error.http)
  })
}

/** Parses a request's data; the error says what is wrong with which field. `route` is for the log of errors only. */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, value: unknown, route: string): z.infer<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const detail = { route, problem: issue ? describeIssue(issue, value) : 'The request cannot be read.' }
  throw new AppError('bad_request', detail)
}

function describeIssue(issue: z.core.$ZodIssue, value: unknown): string {
  const field = issue.path.join('.').replaceAll('_', ' ') || 'request'
  const given = issue.path.reduce<unknown>((part, key) => (part as Record<PropertyKey, unknown> | null)?.[key], value)
  if (typeof given === 'string' && issue.code === 'too_big')
    return `A ${field} has at most ${issue.maximum} characters; this one has ${given.length}.`
  if (typeof given === 'string' && given.trim() === '' && (issue.code === 'too_small' || issue.code === 'custom'))
    return `The ${field} is empty.`
  if (issue.code === 'unrecognized_keys') return `There is no field ${issue.keys.join(', ')} here.`
  return `${field}: ${issueText(issue)}`
}

function send(reply: FastifyReply, error: AppError, status: number): FastifyReply {
  return reply.code(status).send(toErrorReply(error))
}

/** The error of the one table that stands for whatever a route threw. */
export function toAppError(error: FastifyError | AppError): AppError {
  if (error instanceof AppError) return error
  const isClientError = error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500
  const problem = error.statusCode === 415 ? NOT_JSON : error.message
  if (isClientError) return new AppError('bad_request', { problem }, error)
  return new AppError('internal', { problem: messageOf(error) }, error)
}

const NOT_JSON = 'A body is JSON, with the header Content-Type: application/json.'
