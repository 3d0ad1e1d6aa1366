import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { secretId } from '../../base/ids.ts'
import { parseJson } from '../../base/json.ts'
import { identifyPeers, type Peer } from '../../base/process/peer.ts'
import { environmentOf } from '../../base/process/process-table.ts'
import type { ObservedSession } from '../../domain/hook-capture.ts'
import { HOOK_VENDORS, type HookOutput } from '../../domain/hooks.ts'
import type { HookRequest } from '../../supervisor/hooks/open-hooks.ts'
import type { HookCaller } from '../../supervisor/hooks/router.ts'
import { isRunning } from '../../supervisor/hooks/vendor-process.ts'
import type { DaemonContext } from '../context.ts'
import type { DaemonHooks } from '../daemon-hooks.ts'
import { replayOutbox } from '../replay-outbox.ts'
import { parseRequest } from './errors.ts'
import { HOOK_ROUTE } from './guard.ts'

const Params = z.object({ vendor: z.enum(HOOK_VENDORS), event: z.string().regex(/^[A-Za-z]{3,41}$/) })

const Caller = z.object({
  id: z.string().min(8).max(100),
  ppid: z.number().int().positive(),
  folder: z.string(),
  env: z.record(z.string(), z.string()),
})

/** The longest time that a vendor gives a hook. */
const LONGEST_MS = 600_000

/** Answers the hooks of agents that pcc did not start. */
export function hookRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.post(HOOK_ROUTE, async request => {
    const { vendor, event } = parseRequest(Params, request.params, `POST ${HOOK_ROUTE}`)
    const caller = parseRequest(Caller, readCaller(request), `POST ${HOOK_ROUTE}`)
    const peers = onDemand(() => identifyPeers(request.raw.socket, daemon.agentEnv))
    const gone = new AbortController()
    request.raw.socket.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, daemon.stopping, AbortSignal.timeout(LONGEST_MS)])
    return answer(daemon, { vendor, native: event, stdin: request.body, caller, signal }, peers)
  })
}

const EventsQuery = z.strictObject({ tail: z.coerce.number().int().min(0).max(10_000) })

/** Reads what hooks have reported. */
export function hookLogRoutes(app: FastifyInstance, { store }: DaemonContext): void {
  app.get('/hook-events', async request => {
    const { tail } = parseRequest(EventsQuery, request.query, 'GET /hook-events')
    return { events: await store.events({ kinds: ['hook.captured'], tail }) }
  })
}

/** How long a conversation counts as open whose process the system does not tell. */
const OPEN_MS = 3_600_000

/** The conversations of agents that pcc did not start and that are open. */
export async function listObserved({ store }: DaemonContext, project: string | undefined): Promise<ObservedSession[]> {
  const rows = await store.observed.list({ project })
  return rows.filter(({ ended_at, last_at, pid, start_time }) => {
    if (ended_at !== null) return false
    if (pid === null || start_time === null) return Date.now() - last_at < OPEN_MS
    return isRunning({ pid, startTime: start_time })
  })
}

/** Who holds a connection of Claude Code to the listener, which it keeps for many calls. */
const holders = new WeakMap<Socket, () => Promise<Peer[]>>()

/** Answers a hook of Claude Code that came over loopback. Who asks is found by the connection. */
export async function handleHook(
  daemon: DaemonContext,
  { native, body, socket, signal }: { native: string; body: unknown; socket: Socket; signal: AbortSignal },
): Promise<HookOutput> {
  const peers = holders.get(socket) ?? onDemand(() => identifyPeers(socket, daemon.agentEnv))
  holders.set(socket, peers)
  const [holder] = (await peers()).filter(peer => peer.kind === 'process')
  const env = { HOME: daemon.agentEnv['HOME'], ...(holder && readVariables(holder.pid)) }
  const [mark] = holder?.values ?? []
  const marked = mark === undefined ? env : { ...env, PCC_SESSION_MARK: mark }
  const caller: HookCaller = { id: secretId(18), ppid: holder?.pid ?? 0, folder: '/', env: marked }
  return answer(daemon, { vendor: 'claude', native, stdin: body, caller, signal }, peers)
}

/** The variables of Claude Code that matter to hooks; none of them can allow anything. */
function readVariables(pid: number): Record<string, string> {
  const entries = environmentOf(pid).filter(([name]) => name === 'AGENT_ROLE' || name === 'CLAUDE_CONFIG_DIR')
  return Object.fromEntries(entries)
}

/** Found out once, and only if somebody asks: it takes some milliseconds. */
function onDemand<Value>(find: () => Promise<Value>): () => Promise<Value> {
  let found: Promise<Value> | undefined
  return () => {
    found ??= find()
    return found
  }
}

const opened = new WeakMap<DaemonContext, Promise<DaemonHooks>>()

async function answer(daemon: DaemonContext, request: HookRequest, peers: () => Promise<Peer[]>): Promise<HookOutput> {
  // Imported with the first hook, so that a daemon without any stays small.
  const hooks =
    opened.get(daemon) ?? import('../daemon-hooks.ts').then(({ openDaemonHooks }) => openDaemonHooks(daemon))
  opened.set(daemon, hooks)
  try {
    return await (await hooks).answer(request, peers)
  } finally {
    void replayOutbox(daemon)
  }
}

function readCaller({ headers }: FastifyRequest): unknown {
  const text = headers['x-pcc-caller']
  try {
    return parseJson(decodeURIComponent(String(text)))
  } catch {
    throw new AppError('bad_request', { problem: 'The header X-Pcc-Caller cannot be read.' })
  }
}
