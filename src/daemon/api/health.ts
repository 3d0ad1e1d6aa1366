import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../base/errors.ts'
import type { Health } from '../../domain/api.ts'
import type { DaemonContext } from '../context.ts'
import { findRestarter } from '../parent-process.ts'
import { hasToken } from '../routes/guard.ts'
import { requireScope } from './authenticate.ts'

/** Whether the daemon and what it depends on work. Without a key, or on the socket without the token, only one word is said. */
export function healthRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/health', async request => {
    const status = daemon.stopping.aborted ? 'stopping' : 'ok'
    return (await mayRead(request, daemon)) ? readHealth(daemon, status) : { status }
  })

  app.get('/health/ready', async (request, reply) => {
    const problem = await findObstacle(daemon)
    if (problem !== undefined) reply.code(503)
    const status = problem === undefined ? 'ready' : 'not ready'
    return (await mayRead(request, daemon)) ? { status, ...(problem !== undefined && { problem }) } : { status }
  })

  app.get('/health/store', async (request, reply) => {
    await requireReader(request, daemon)
    const store = await readStoreHealth(daemon)
    if (store.status !== 'ok') reply.code(503)
    return store
  })
}

/** Throws unless the request may read: the token on our own socket, a key anywhere else. */
async function requireReader(request: FastifyRequest, { token, authenticator }: DaemonContext): Promise<void> {
  if (isOnOwnSocket(request) && hasToken(request, token)) return
  requireScope(await authenticator.authenticate(request), 'read')
}

async function mayRead(request: FastifyRequest, daemon: DaemonContext): Promise<boolean> {
  try {
    await requireReader(request, daemon)
    return true
  } catch (error) {
    if (error instanceof AppError && error.http < 500) return false
    throw error
  }
}

/** The token of this installation is for the Unix socket only. A call without a socket comes from this process itself. */
function isOnOwnSocket({ raw: { socket } }: FastifyRequest): boolean {
  return socket.remotePort === undefined
}

async function readHealth(daemon: DaemonContext, status: Health['status']): Promise<Health> {
  const { paths, version, startedAt, store, supervisor } = daemon
  const disk = daemon.disk.report()
  return {
    status,
    version,
    pid: process.pid,
    started_at: startedAt,
    home: paths.home,
    data: paths.data,
    sessions: { live: supervisor.liveCount, total: (await store.sessions.list()).length },
    schema: store.schema,
    kept_by: findRestarter(daemon.agentEnv),
    watchdog_seconds: daemon.watchdogSeconds,
    ...(disk.state !== 'ok' && { disk: disk.reason }),
    ...(daemon.recovered && { recovered: daemon.recovered }),
  }
}

/** Why the daemon takes no work now. */
async function findObstacle(daemon: DaemonContext): Promise<string | undefined> {
  if (daemon.stopping.aborted) return 'the daemon is stopping'
  const { status, problem } = await readStoreHealth(daemon)
  return status === 'ok' ? undefined : (problem ?? 'the store does not answer')
}

interface StoreHealth {
  status: 'ok' | 'failing'
  schema: number
  used_bytes?: number
  /** How long one small read took. */
  latency_ms?: number
  problem?: string
}

async function readStoreHealth({ store, disk }: DaemonContext): Promise<StoreHealth> {
  const { schema } = store
  const report = disk.report()
  try {
    const began = performance.now()
    const used_bytes = await store.pruning.usedBytes()
    const latency_ms = Math.round((performance.now() - began) * 1000) / 1000
    if (report.state === 'ok') return { status: 'ok', schema, used_bytes, latency_ms }
    return { status: 'failing', schema, used_bytes, latency_ms, problem: report.reason }
  } catch (error) {
    const problem = error instanceof AppError ? error.message : 'the store cannot be read'
    return { status: 'failing', schema, problem }
  }
}
