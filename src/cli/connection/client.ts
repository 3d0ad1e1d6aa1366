import type { AppPaths } from '../../base/app-paths.ts'
import { programVersion } from '../../base/program.ts'
import type { Health } from '../../domain/api.ts'
import type { DaemonConnection } from './connection.ts'
import { ANSWER_MS, type RawReply, type RawRequest, rawRequest, readToken } from './raw-request.ts'

// Hot commands load this file, so whatever only an error, a stream or the start of a daemon needs is imported on use.

/** A connection to the daemon that can also hand on an answer as it is. */
export interface Client extends DaemonConnection {
  /** Fetches the body of an answer unparsed; with `take`, it is handed over piece by piece as it arrives. */
  fetch(path: string, take?: (piece: Buffer) => void): Promise<Buffer>
}

/** A connection to a daemon that answered, and its state then. */
export interface CheckedClient extends Client {
  health: Health
}

export interface ClientOptions {
  env: Record<string, string | undefined>
  quiet?: boolean
}

/** Connects to the daemon of these paths and starts it when it is not running. */
export async function openClient(paths: AppPaths, { env, quiet }: ClientOptions): Promise<CheckedClient> {
  const health = await ensureDaemon(paths, env)
  if (!quiet) await compareVersions(health.version)
  return checkedClient(paths, health)
}

/** Connects only to a daemon that is already running. */
export async function findClient(paths: AppPaths, { timeoutMs = ANSWER_MS } = {}): Promise<CheckedClient | undefined> {
  const health = await fetchHealth(paths, timeoutMs)
  return health && checkedClient(paths, health)
}

/** Tells a running daemon to try accounts that a missing login or credit has closed. Without a daemon there is nothing to try. */
export async function tryAccounts(paths: AppPaths): Promise<void> {
  const client = await findClient(paths).catch(() => undefined)
  await client?.request('POST', '/accounts/try', {}).catch(() => undefined)
}

/**
 * Connects without asking first whether a daemon runs, for commands that must be fast. If the first request finds none, the
 * daemon is started and the request is sent then. Every answer must come within `timeoutMs`.
 */
export function quickClient(
  paths: AppPaths,
  { env, quiet, timeoutMs = ANSWER_MS }: ClientOptions & { timeoutMs?: number },
): Client {
  let hasAnswered = false
  return clientOf(paths, async call => {
    let reply = await send(paths, call, timeoutMs)
    if (!hasAnswered && (!reply || isStopping(reply))) {
      await ensureDaemon(paths, env)
      reply = await send(paths, call, timeoutMs)
    }
    if (!hasAnswered && !quiet) await compareVersions(reply?.headers['x-pcc-version'])
    hasAnswered = true
    return reply
  })
}

/** A request to a daemon that has answered before may take as long as it takes. */
function checkedClient(paths: AppPaths, health: Health): CheckedClient {
  return { ...clientOf(paths, call => send(paths, call, 0)), health }
}

type Call = Pick<RawRequest, 'method' | 'path' | 'body' | 'take'>

function clientOf(paths: AppPaths, sendCall: (call: Call) => Promise<RawReply | undefined>): Client {
  const fetchBytes = async (call: Call): Promise<Buffer> => {
    const reply = await sendCall(call)
    if (!reply) throw await unreachableError(paths, 'nobody answers')
    if (reply.status >= 400) throw (await import('../errors.ts')).remoteError(parseBody(reply))
    return reply.bytes
  }
  return {
    fetch: (path, take) => fetchBytes({ path, ...(take && { take }) }),
    async request<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) {
      return JSON.parse((await fetchBytes({ method, path, body })).toString()) as T
    },
    async *stream(path, options) {
      const { streamEvents } = await import('./stream.ts')
      yield* streamEvents(paths, path, options)
    },
  }
}

/** Sends a request. Returns `undefined` when nobody listens. */
async function send(paths: AppPaths, call: Call, timeoutMs: number): Promise<RawReply | undefined> {
  const { socket, tokenFile } = paths
  // After a sixth of the time, which is five seconds, the terminal says that the daemon is slow.
  const slow = timeoutMs === 0 ? undefined : setTimeout(sayThatItIsSlow, timeoutMs / 6)
  try {
    return await rawRequest({ socket, token: readToken(tokenFile), timeoutMs, ...call })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ETIMEDOUT') throw await unreachableError(paths, message)
    // A daemon process that is stopped (SIGSTOP) still accepts connections but never answers.
    throw (await import('./start-daemon.ts')).silentDaemonError(paths, timeoutMs)
  } finally {
    clearTimeout(slow)
  }
}

function sayThatItIsSlow(): void {
  if (process.stderr.isTTY) process.stderr.write('The daemon has not answered yet; still waiting\n')
}

function parseBody({ bytes }: RawReply): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return bytes.toString() // not the daemon's JSON: remoteError quotes it
  }
}

function isStopping(reply: RawReply): boolean {
  return reply.status >= 400 && reply.bytes.includes('"daemon_stopping"')
}

async function unreachableError(paths: AppPaths, problem: string): Promise<Error> {
  const { AppError } = await import('../../base/errors.ts')
  return new AppError('daemon_unreachable', { home: paths.home, problem })
}

/** How long a daemon that holds the lock but does not answer yet (starting or draining) is polled before another start. */
const POLL_MS = 2_000
const TRIES = 10

async function ensureDaemon(paths: AppPaths, env: ClientOptions['env']): Promise<Health> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const health = await fetchHealth(paths)
    if (health?.status === 'ok') return health
    if (!health) await (await import('./start-daemon.ts')).startDaemon(paths, env)
    const { setTimeout: sleep } = process.getBuiltinModule('node:timers/promises')
    for (const deadline = Date.now() + POLL_MS; Date.now() < deadline; await sleep(40)) {
      const now = await fetchHealth(paths)
      if (now?.status === 'ok') return now
    }
  }
  throw await unreachableError(paths, 'it holds its lock but does not answer')
}

async function fetchHealth(paths: AppPaths, timeoutMs = ANSWER_MS): Promise<Health | undefined> {
  try {
    return await clientOf(paths, call => send(paths, call, timeoutMs)).request<Health>('GET', '/health')
  } catch (error) {
    if ((error as { code?: string }).code === 'daemon_unreachable') return undefined
    throw error
  }
}

/** Warns when the daemon's version differs: after an update the old daemon still runs and answers. */
async function compareVersions(running: string | undefined): Promise<void> {
  const own = programVersion()
  if (running !== undefined && running !== own) (await import('../errors.ts')).warnOfVersion(running, own)
}
