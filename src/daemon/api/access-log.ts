import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Log } from '../../base/log.ts'
import type { Caller } from '../../domain/access.ts'

export interface AccessLogDeps {
  /** The log of requests, apart from the daemon's own. */
  access: Log
  /** Who sends a request, as far as that is known. */
  callerOf(request: FastifyRequest): Caller | undefined
}

/**
 * Writes one line for every request of other programs: its id, who sent it, which route, the status and how long it took. The id is the
 * one in the audit log and in the daemon's log of errors. The address with its values, headers and bodies are never in it.
 */
export function installAccessLog(app: FastifyInstance, { access, callerOf }: AccessLogDeps): void {
  app.addHook('onResponse', async (request, reply) => {
    const caller = callerOf(request)
    access.info(
      {
        request: request.id,
        caller: caller?.name ?? null,
        via: caller?.via ?? null,
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        from: request.raw.socket.remoteAddress ?? 'socket',
      },
      'request',
    )
  })
}
