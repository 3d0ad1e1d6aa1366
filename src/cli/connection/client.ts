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
import { ANSWER_MS } from './raw-request.ts'

// Half the start-up of a command is reading every export of `node:http`, which an ESM import does and this does not.
const { readFileSync } = process.getBuiltinModule('node:fs')
const { request: httpRequest } = process.getBuiltinModule('node:http')
const { setTimeout: sleep } = process.getBuiltinModule('node:timers/promises')

/** The daemon as the commands see it. */
export interface Client extends DaemonConnection {
  health: Health
}

export interface ClientOptions {
  env: Record<string, string | undefined>
  quiet?: boolean
}

/** Connects to the daemon of these places, starting it when it is not up. */
export async function openClient(paths: AppPaths, { env, quiet }: ClientOptions): Promise<Client> {
  const health = await upDaemon(paths, env)
  if (health.version !== programVersion() && !quiet) warnOfVersion(health.version, programVersion())
  return clientOf(paths, health)
}

/** Connects only to a daemon that runs already. */
export async function findClient(paths: AppPaths, { patienceMs = ANSWER_MS } = {}): Promise<Client | undefined> {
  const health = await healthOf(paths, patienceMs)
  return health ? clientOf(paths, health) : undefined
}

/** How long one that holds the lock but does not answer yet (starting, or draining) is waited for before looking again. */
const PATIENCE_MS = 2_000
const TRIES = 10

async function upDaemon(paths: AppPaths, env: ClientOptions['env']): Promise<Health> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const health = await healthOf(paths)
    if (health?.status === 'ok') return health
    if (!health) await (await import('./start-daemon.ts')).startDaemon(paths, env)
    for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(40)) {
      const now = await healthOf(paths)
      if (now?.status === 'ok') return now
    }
  }
  throw new AppError('daemon_unreachable', { home: paths.home, problem: 'it holds its lock but does not answer' })
}

async function healthOf(paths: AppPaths, patienceMs = ANSWER_MS): Promise<Health | undefined> {
  const patience = AbortSignal.timeout(patienceMs)
  try {
    return await clientOf(paths, undefined, patience).request<Health>('GET', '/health')
  } catch (error) {
    // One that was stopped still takes connections: whoever waits for its word waits for ever.
    if (patience.aborted) throw (await import('./start-daemon.ts')).silentDaemonError(paths, patienceMs)
    if (error instanceof AppError && error.code === 'daemon_unreachable') return undefined
    throw error
  }
}

function clientOf(paths: AppPaths, health?: Health, patience?: AbortSignal): Client {
  const send = (method: string, path: string, extra: Extra = {}) =>
    open(paths, method, path, { ...(patience && { signal: patience }), ...extra })
  return {
    health: health as Health,
    async request<T>(method: string, path: string, body?: unknown) {
      const reply = await send(method, path, { body })
      const answer: unknown = parsed(await textOf(reply))
      if ((reply.statusCode ?? 500) >= 400) throw remoteError(answer)
      return answer as T
    },
    async *stream(path, { after, signal }) {
      const reply = await send('GET', path, { signal, headers: { 'last-event-id': String(after) } })
      if ((reply.statusCode ?? 500) >= 400) throw remoteError(parsed(await textOf(reply)))
      yield* serverSentEvents(reply, signal)
    },
  }
}

interface Extra {
  body?: unknown
  signal?: AbortSignal
  headers?: Record<string, string>
}

function open(
  paths: AppPaths,
  method: string,
  path: string,
  { body, signal, headers }: Extra,
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
        authorization: `Bearer ${tokenIn(paths.tokenFile)}`,
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

async function textOf(reply: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of reply.setEncoding('utf8')) text += chunk
  return text
}

function tokenIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return 'none' // no daemon has written one yet; the connection tells the rest
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body // not ours: remoteError shows it
  }
}

/** A command about tasks with the daemon behind it. */
export interface CommandCall extends CommandContext {
  client: Client
  /** JSON where it was asked for, else the lines. */
  show(answer: unknown, lines: () => string[]): void
}

/** Opens what a command about tasks works with. `writes`: an agent in a session must not do it. */
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

/** Where a task is asked for. What cannot be an id is refused here: it would be another address. */
export function taskPath(ref: string): string {
  if (/^[\s.]*$/.test(ref)) throw new AppError('task_not_there', { ref })
  return `/tasks/${encodeURIComponent(ref)}`
}
