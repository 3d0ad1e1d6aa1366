import type { FastifyInstance, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { secretId } from '../../base/ids.ts'
import { parseJson } from '../../base/json.ts'
import { identifyPeers, type PeerProcess, wears } from '../../base/process/peer.ts'
import type { ObservedSession } from '../../domain/hook-capture.ts'
import { HOOK_VENDORS, type HookOutput } from '../../domain/hooks.ts'
import type { HookCaller, HookRequest, Hooks } from '../../supervisor/hooks/open-hooks.ts'
import { findVendorProcess, isRunning, VendorProcesses } from '../../supervisor/hooks/vendor-process.ts'
import { type DaemonContext, readNeeds } from '../context.ts'
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
    requests.set(caller, request)
    const gone = new AbortController()
    request.raw.socket.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, daemon.stopping, AbortSignal.timeout(LONGEST_MS)])
    return answer(daemon, { vendor, native: event, stdin: request.body, caller, signal })
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

/**
 * Answers a hook of Claude Code that came over loopback. Who asks is not known there: the process is registered by its `SessionStart`,
 * which is a command, and nothing is taken for a session of ours.
 */
export function handleHook(
  daemon: DaemonContext,
  { native, body, signal }: { native: string; body: unknown; signal: AbortSignal },
): Promise<HookOutput> {
  const caller: HookCaller = { id: secretId(18), ppid: 0, folder: '/', env: { HOME: daemon.agentEnv['HOME'] } }
  return answer(daemon, { vendor: 'claude', native, stdin: body, caller, signal })
}

const requests = new WeakMap<HookCaller, FastifyRequest>()
const opened = new WeakMap<DaemonContext, Promise<Hooks>>()

async function answer(daemon: DaemonContext, request: HookRequest): Promise<HookOutput> {
  // Imported with the first hook, so that a daemon without any stays small.
  const hooks = opened.get(daemon) ?? openDaemonHooks(daemon)
  opened.set(daemon, hooks)
  try {
    return await (await hooks).answer(request)
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

async function openDaemonHooks(daemon: DaemonContext): Promise<Hooks> {
  const [{ openHooks }, { openCaptureQueue }] = await Promise.all([
    import('../../supervisor/hooks/open-hooks.ts'),
    import('../../supervisor/hooks/capture.ts'),
  ])
  const { paths, agentEnv: env, log, store, policy } = daemon
  const processes = new VendorProcesses(paths)
  const queue = openCaptureQueue(rows => store.observed.capture(rows))
  const peersOf = async (caller: HookCaller) => {
    const request = requests.get(caller)
    const peers = request ? await identifyPeers(request.raw.socket, env) : []
    return peers.filter(peer => peer.kind === 'process')
  }
  return openHooks({
    paths,
    env,
    log,
    classifier: policy,
    answers: store.answers,
    needs: async project => (await readNeeds(daemon, { project })).needs,
    notify: async event => void (await store.append([event])),
    record: rows => queue.add(rows),
    register: async (found, caller) => {
      if (processes.has(found)) return
      // What the hook says of its parents is only a hint: an agent could name the person's own shell.
      for (const real of (await peersOf(caller)).flatMap(({ pid }) => findVendorProcess(pid) ?? [])) processes.add(real)
    },
    isOwn: async caller => {
      const mark = caller.env['PCC_SESSION_MARK']
      return mark !== undefined && isLiveSession(await peersOf(caller), mark, daemon)
    },
  })
}

/** Whether the hook runs inside a session that is at work here: the session's own gate decides about its calls. */
async function isLiveSession(
  peers: readonly PeerProcess[],
  mark: string,
  { store, supervisor }: DaemonContext,
): Promise<boolean> {
  if (peers.length === 0 || !peers.every(peer => wears(peer, mark))) return false
  const session = (await store.sessions.list({})).find(({ marker }) => marker === mark)
  return session !== undefined && supervisor.run(session.id) !== undefined
}
