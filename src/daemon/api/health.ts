import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { runShort } from '../../base/process/run-short.ts'
import type { Health } from '../../domain/api.ts'
import { faultOf } from '../../domain/limit.ts'
import { isAliveInTerminal } from '../../supervisor/session/terminal.ts'
import type { DaemonContext } from '../context.ts'
import { findRestarter } from '../parent-process.ts'
import { hasToken } from '../routes/guard.ts'
import { requireScope } from './authenticate.ts'

/** Whether the daemon and what it depends on work. Without a key, or on the socket without the token, only one word is said. */
export function healthRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/health', async request => {
    const status = daemon.stopping.aborted ? 'stopping' : 'ok'
    return (await mayReadHealth(request, daemon)) ? readHealth(daemon, status) : { status }
  })

  app.get('/health/ready', async (request, reply) => {
    const problem = await findObstacle(daemon)
    if (problem !== undefined) reply.code(503)
    const status = problem === undefined ? 'ready' : 'not ready'
    return (await mayReadHealth(request, daemon)) ? { status, ...(problem !== undefined && { problem }) } : { status }
  })

  app.get('/health/store', async (request, reply) => {
    await requireReader(request, daemon)
    const store = await readStoreHealth(daemon)
    if (store.status !== 'ok') reply.code(503)
    return store
  })

  app.get('/health/tmux', async (request, reply) => {
    await requireReader(request, daemon)
    const tmux = await readTmuxHealth(daemon)
    if (tmux.status === 'failing') reply.code(503)
    return tmux
  })

  app.get('/health/agents', async (request, reply) => {
    await requireReader(request, daemon)
    const agents = await readAgentsHealth(daemon)
    if (agents.status === 'failing') reply.code(503)
    return agents
  })
}

/** Throws unless the request may read: the token on our own socket, a key anywhere else. */
export async function requireReader(request: FastifyRequest, { token, authenticator }: DaemonContext): Promise<void> {
  if (isOnOwnSocket(request) && hasToken(request, token)) return
  requireScope(await authenticator.authenticate(request), 'read')
}

async function mayReadHealth(request: FastifyRequest, daemon: DaemonContext): Promise<boolean> {
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
    sessions: { live: supervisor.liveCount, total: await store.sessions.count() },
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

interface TmuxHealth {
  /** `unused`: no session is in tmux, so nothing depends on it. */
  status: 'ok' | 'unused' | 'failing'
  /** Sessions that are in tmux and not over. */
  sessions: number
  alive: number
  version?: string
  problem?: string
}

/** Whether the terminals of sessions in tmux are there. */
async function readTmuxHealth({ store }: DaemonContext): Promise<TmuxHealth> {
  const rows = (await store.sessions.list({ only: 'live' })).filter(row => row.options.host === 'tmux')
  const alive = (await Promise.all(rows.map(isAliveInTerminal))).filter(Boolean).length
  const counts = { sessions: rows.length, alive }
  const found = await tmuxVersion()
  if (found === undefined) {
    const problem = 'tmux is not installed, or does not run'
    return rows.length === 0 ? { status: 'unused', ...counts, problem } : { status: 'failing', ...counts, problem }
  }
  if (rows.length === 0) return { status: 'unused', ...counts, version: found }
  const problem = `${rows.length - alive} of ${rows.length} terminals are gone`
  return alive === rows.length
    ? { status: 'ok', ...counts, version: found }
    : { status: 'failing', ...counts, version: found, problem }
}

async function tmuxVersion(): Promise<string | undefined> {
  const limits = { timeoutMs: 2_000, maxBytes: 1_000 }
  const { code, stdout } = await runShort({ command: 'tmux', args: ['-V'], cwd: '/', env: process.env, ...limits })
  return code === 0 ? stdout.trim() : undefined
}

interface AgentsHealth {
  /** `limited`: an account waits for its reset. `failing`: one needs a person, or a recovery failed. */
  status: 'ok' | 'limited' | 'failing'
  live: number
  /** Accounts that wait, that a person holds, and that a person has to mend. */
  limited: number
  held: number
  faulty: number
  incidents: number
}

/** Whether agents can work: by what they and their vendors said last. No agent is started for it. */
async function readAgentsHealth({ store, supervisor }: DaemonContext): Promise<AgentsHealth> {
  const now = Date.now()
  const [gates, { incidents }] = await Promise.all([store.gates.list(), store.figures.read()])
  const faulty = gates.filter(gate => faultOf(gate) !== undefined).length
  const limited = gates.filter(gate => (gate.closed_until ?? 0) > now && faultOf(gate) === undefined).length
  const held = gates.filter(gate => gate.held).length
  const status = faulty + incidents > 0 ? 'failing' : limited > 0 ? 'limited' : 'ok'
  return { status, live: supervisor.liveCount, limited, held, faulty, incidents }
}
