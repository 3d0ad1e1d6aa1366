import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { secretId } from '../../base/ids.ts'
import { isObject, parseJson } from '../../base/json.ts'
import { describeProcess, holdsOtherEnd, identifyPeers, type Peer } from '../../base/process/peer.ts'
import { environmentOf } from '../../base/process/process-table.ts'
import type { ObservedSession, ObservedView } from '../../domain/hook-capture.ts'
import { HOOK_VENDORS, type HookOutput } from '../../domain/hooks.ts'
import type { HookRequest } from '../../supervisor/hooks/open-hooks.ts'
import { type HookCaller, onDemand } from '../../supervisor/hooks/router.ts'
import {
  findVendorProcess,
  isRunning,
  type VendorProcess,
  VendorProcesses,
} from '../../supervisor/hooks/vendor-process.ts'
import type { DaemonContext } from '../context.ts'
import type { DaemonHooks } from '../daemon-hooks.ts'
import { replayOutbox } from '../replay-outbox.ts'
import { isHeard } from '../speakers.ts'
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
    const leave = () => gone.abort()
    request.raw.socket.once('close', leave)
    const signal = AbortSignal.any([gone.signal, daemon.stopping, AbortSignal.timeout(LONGEST_MS)])
    try {
      return await answer(daemon, { vendor, native: event, stdin: request.body, caller, signal }, peers)
    } finally {
      request.raw.socket.off('close', leave) // one connection may bring many hooks
    }
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
export async function listObserved(daemon: DaemonContext, project: string | undefined): Promise<ObservedView[]> {
  const rows = (await daemon.store.observed.list({ project })).filter(isOpen)
  return Promise.all(
    rows.map(async row => {
      return { ...row, cost_estimated: row.cost_estimated === 1, quota: await daemon.quota.observed(row.vendor) }
    }),
  )
}

function isOpen({ ended_at, last_at, pid, start_time }: ObservedSession): boolean {
  if (ended_at !== null) return false
  if (pid === null || start_time === null) return Date.now() - last_at < OPEN_MS
  return isRunning({ pid, startTime: start_time })
}

/** Answers a hook of Claude Code that came over loopback. Who asks is found by the connection. */
export async function handleHook(
  daemon: DaemonContext,
  { native, body, socket, signal }: { native: string; body: unknown; socket: Socket; signal: AbortSignal },
): Promise<HookOutput> {
  const conversation = isObject(body) ? String(body['session_id']) : ''
  const { pid, mark, peers } = await findHolder({ conversation, socket }, daemon)
  const env = {
    HOME: daemon.agentEnv['HOME'],
    ...readVariables(pid),
    ...(mark !== undefined && { PCC_SESSION_MARK: mark }),
  }
  const caller: HookCaller = { id: secretId(18), ppid: pid, folder: '/', env }
  return answer(daemon, { vendor: 'claude', native, stdin: body, caller, signal }, peers)
}

/** More conversations than a person has open at once. */
const MOST_HOLDERS = 500
const holdersOf = new WeakMap<DaemonContext, Map<string, VendorProcess>>()

/**
 * The process that asks, and the mark that it carries. Looking it up takes longer than the verdict, and Claude Code connects anew for each
 * call, so the process of a conversation is remembered while it runs: but never one that is not heard, because of its marks, and none that
 * another agent started. Any script can name a conversation, so it must be the remembered process that asks.
 */
async function findHolder(
  { conversation, socket }: { conversation: string; socket: Socket },
  daemon: DaemonContext,
): Promise<{ pid: number; mark?: string; peers: () => Promise<Peer[]> }> {
  const holders = holdersOf.get(daemon) ?? new Map<string, VendorProcess>()
  holdersOf.set(daemon, holders)
  const known = holders.get(conversation)
  if (known && isRunning(known) && holdsOtherEnd(known.pid, socket))
    return { pid: known.pid, peers: onDemand(async () => [describeProcess(known.pid)]) }
  const identified = await identifyPeers(socket, daemon.agentEnv)
  const peers = async () => identified
  const [holder] = identified.filter(peer => peer.kind === 'process')
  if (!holder) return { pid: 0, peers }
  const [mark] = holder.values
  if (mark !== undefined) return { pid: holder.pid, mark, peers }
  const found = findVendorProcess(holder.pid)
  const above = holder.chain.filter(pid => pid !== found?.pid)
  const vendors = new VendorProcesses(daemon.paths)
  if (found && isHeard(holder, vendors) && !vendors.isAmong(above)) holders.set(conversation, found)
  for (const oldest of [...holders.keys()].slice(0, -MOST_HOLDERS)) holders.delete(oldest)
  return { pid: holder.pid, peers }
}

/** The variables of Claude Code that matter to hooks; none of them can allow anything. */
function readVariables(pid: number): Record<string, string> {
  const entries = environmentOf(pid).filter(([name]) => name === 'AGENT_ROLE' || name === 'CLAUDE_CONFIG_DIR')
  return Object.fromEntries(entries)
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
