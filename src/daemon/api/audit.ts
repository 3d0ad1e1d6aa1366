import type { FastifyInstance, FastifyRequest } from 'fastify'
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
  app.addHook('preHandler', async request => {
    const caller = isChange(request) ? callerOf(request) : undefined
    if (!caller) return
    const entry = describe(request, caller)
    entries.set(request, { ...entry, id: await store.audit.add(entry) })
  })
  app.addHook('onSend', async (request, { statusCode }) => {
    const entry = entries.get(request)
    if (!entry || statusCode < 400) return
    // The reply says what happened; that it is missing in the log must not change it.
    await store.audit.fail(entry, statusCode).catch(error => log.error({ error }, 'a failed change was not audited'))
  })
}

function isChange({ method }: FastifyRequest): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS'
}

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
