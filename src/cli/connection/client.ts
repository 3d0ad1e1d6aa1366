import type { IncomingMessage } from 'node:http'
import type { Command } from 'commander'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { programVersion } from '../../base/program.ts'
import type { Health } from '../../domain/api.ts'
import { type CommandContext, contextOf } from '../context.ts'
import { remoteError, warnOfVersion } from '../errors.ts'
import { refuseInSession } from '../options.ts'
import { type DaemonConnection, serverSentEvents } from './connection.ts'
import { ANSWER_MS, readToken } from './raw-request.ts'

// An ESM import of `node:http` reads every export of it, which is half the start-up time of a command; this does not.
const { request: httpRequest } = process.getBuiltinModule('node:http')
const { setTimeout: sleep } = process.getBuiltinModule('node:timers/promises')

/** A connection to the daemon and its state when the connection was made. */
export interface Client extends DaemonConnection {
  health: Health
}

export interface ClientOptions {
  env: Record<string, string | undefined>
  quiet?: boolean
}

/** Connects to the daemon of these paths and starts it when it is not running. */
export async function openClient(paths: AppPaths, { env, quiet }: ClientOptions): Promise<Client> {
  const health = await ensureDaemon(paths, env)
  if (health.version !== programVersion() && !quiet) warnOfVersion(health.version, programVersion())
  return makeClient(paths, health)
}

/** Connects only to a daemon that is already running. */
export async function findClient(paths: AppPaths, { timeoutMs = ANSWER_MS } = {}): Promise<Client | undefined> {
  const health = await fetchHealth(paths, timeoutMs)
  return health ? makeClient(paths, health) : undefined
}

/** How long a daemon that holds the lock but does not answer yet (starting or draining) is polled before another start. */
const POLL_MS = 2_000
const TRIES = 10

async function ensureDaemon(paths: AppPaths, env: ClientOptions['env']): Promise<Health> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const health = await fetchHealth(paths)
    if (health?.status === 'ok') return health
    if (!health) await (await import('./start-daemon.ts')).startDaemon(paths, env)
    for (const deadline = Date.now() + POLL_MS; Date.now() < deadline; await sleep(40)) {
      const now = await fetchHealth(paths)
      if (now?.status === 'ok') return now
    }
  }
  throw new AppError('daemon_unreachable', { home: paths.home, problem: 'it holds its lock but does not answer' })
}

async function fetchHealth(paths: AppPaths, timeoutMs = ANSWER_MS): Promise<Health | undefined> {
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    return await makeClient(paths, undefined, timeout).request<Health>('GET', '/health')
  } catch (error) {
    // A daemon process that is stopped (SIGSTOP) still accepts connections but never answers.
    if (timeout.aborted) throw (await import('./start-daemon.ts')).silentDaemonError(paths, timeoutMs)
    if (error instanceof AppError && error.code === 'daemon_unreachable') return undefined
    throw error
  }
}

function makeClient(paths: AppPaths, health?: Health, timeout?: AbortSignal): Client {
  const send = (method: string, path: string, options: RequestOptions = {}) =>
    sendRequest(paths, method, path, { ...(timeout && { signal: timeout }), ...options })
  return {
    health: health as Health,
    async request<T>(method: string, path: string, body?: unknown) {
      const reply = await send(method, path, { body })
      const answer: unknown = parseBody(await readText(reply))
      if ((reply.statusCode ?? 500) >= 400) throw remoteError(answer)
      return answer as T
    },
    async *stream(path, { after, signal }) {
      const reply = await send('GET', path, { signal, headers: { 'last-event-id': String(after) } })
      if ((reply.statusCode ?? 500) >= 400) throw remoteError(parseBody(await readText(reply)))
      yield* serverSentEvents(reply, signal)
    },
  }
}

interface RequestOptions {
  body?: unknown
  signal?: AbortSignal
  headers?: Record<string, string>
}

function sendRequest(
  paths: AppPaths,
  method: string,
  path: string,
  { body, signal, headers }: RequestOptions,
): Promise<IncomingMessage> {
  const payload = body === undefined ? undefined : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      socketPath: paths.socket,
      method,
      path,
      agent: false,
      ...(signal && { signal }),
      headers: {
        host: 'pcc',
        authorization: `Bearer ${readToken(paths.tokenFile) ?? 'none'}`,
        ...(payload && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
        ...headers,
      },
    })
    request.once('response', resolve)
    request.once('error', error =>
      reject(new AppError('daemon_unreachable', { home: paths.home, problem: messageOf(error) }, error)),
    )
    request.end(payload)
  })
}

async function readText(reply: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of reply.setEncoding('utf8')) text += chunk
  return text
}

function parseBody(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body // not the daemon's JSON: remoteError quotes it
  }
}

/** The context of a `pcc task` command, with a connection to the daemon. */
export interface CommandCall extends CommandContext {
  client: Client
  /** Prints the answer as JSON with `--json`, otherwise the lines. */
  show(answer: unknown, lines: () => string[]): void
}

/** Opens the context of a `pcc task` command. With `writes`, the command is refused inside a session. */
export async function openCommandCall(command: Command, { writes }: { writes: boolean }): Promise<CommandCall> {
  const context = await contextOf(command)
  if (writes) refuseInSession(context.env, `task ${command.name()} …`)
  const client = await openClient(context.paths, context)
  return {
    ...context,
    client,
    show(answer, lines) {
      for (const line of context.json ? [JSON.stringify(answer, null, 2)] : lines()) context.out(line)
    },
  }
}

/** The API path of a task. A reference of only dots or spaces is rejected here, because it would address another path. */
export function taskPath(ref: string): string {
  if (/^[\s.]*$/.test(ref)) throw new AppError('task_not_there', { ref })
  return `/tasks/${encodeURIComponent(ref)}`
}
