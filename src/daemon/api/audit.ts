import type { FastifyInstance, FastifyRequest, onSendHookHandler, preHandlerHookHandler } from 'fastify'
import type { Log } from '../../base/log.ts'
import type { Caller } from '../../domain/access.ts'
import type { NewAuditEntry, Store } from '../../store/store.ts'

export interface AuditDeps {
  store: Pick<Store, 'audit'>
  log: Log
  /** Who sends a request; undefined if it is one that no person or program answers for, such as the call of an agent's hook. */
  callerOf(request: FastifyRequest): Caller | undefined
}

/**
 * Writes one row for every change before it happens, so that there is no change without a row: if the row cannot be stored, the
 * change is refused. If the change fails, a second row says so, and the list shows both as one. What the change contains is not
 * stored: bodies hold environments and texts.
 */
export function installAudit(app: FastifyInstance, { store, log, callerOf }: AuditDeps): void {
  const entries = new WeakMap<FastifyRequest, NewAuditEntry & { id: number }>()
  const begin: preHandlerHookHandler = (request, _reply, done) => {
    const caller = callerOf(request)
    if (!caller) return done()
    const entry = describe(request, caller)
    void store.audit.add(entry).then(id => {
      entries.set(request, { ...entry, id })
      done()
    }, done)
  }
  const end: onSendHookHandler = (request, { statusCode }, payload, done) => {
    const entry = statusCode < 400 ? undefined : entries.get(request)
    if (!entry) return done(null, payload)
    // The reply says what happened; that it is missing in the log must not change it.
    const failed = (error: unknown) => log.error({ error }, 'a failed change was not audited')
    void store.audit
      .fail(entry, statusCode)
      .catch(failed)
      .then(() => done(null, payload))
  }
  // Only routes that change something get the hooks: each costs a read as much as looking the task up.
  app.addHook('onRoute', route => {
    if ([route.method].flat().every(method => READS.has(method))) return
    route.preHandler = [begin, ...[route.preHandler ?? []].flat()]
    route.onSend = [end, ...[route.onSend ?? []].flat()]
  })
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The longest value of a path that is kept. */
const MAX_VALUE = 200

function describe(request: FastifyRequest, { name, via, scope }: Caller): NewAuditEntry {
  const params = Object.entries((request.params ?? {}) as Record<string, string>)
  return {
    time: Date.now(),
    caller: name,
    via,
    scope,
    action: `${request.method} ${request.routeOptions.url ?? 'unknown'}`,
    target: params.map(([key, value]) => `${key}=${value.slice(0, MAX_VALUE)}`).join(' '),
    request_id: request.id,
  }
}

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
  app.addHook('onResponse', (request, reply, done) => {
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
    done()
  })
}
