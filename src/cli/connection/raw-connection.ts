import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { remoteError } from '../errors.ts'
import { compareVersions } from '../hot-commands.ts'
import { type DaemonConnection, serverSentEvents } from './connection.ts'
import { ANSWER_MS, parseHead, rawRequest, readToken } from './raw-request.ts'

const { connect } = process.getBuiltinModule('node:net')

/** No daemon is running, or it is stopping. The caller then starts one through the slow path. */
export class DaemonAbsent extends Error {}

interface RawOptions {
  quiet: boolean
  /** How long a daemon that accepts the connection may stay silent. */
  timeoutMs?: number
}

/**
 * Talks to a running daemon by hand-written requests. When no daemon answers the first request, `DaemonAbsent` is thrown;
 * a daemon that has answered before and is then gone is an error.
 */
export function rawConnection(paths: AppPaths, { quiet, timeoutMs = ANSWER_MS }: RawOptions): DaemonConnection {
  const { home, socket, tokenFile } = paths
  let hasAnswered = false
  const unreachable = (problem: string) => new AppError('daemon_unreachable', { home, problem })
  return {
    async request<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) {
      const pending = rawRequest({ socket, tokenFile, method, path, body, timeoutMs })
      const reply = await pending.catch(async error => {
        // A daemon process that is stopped (SIGSTOP) still accepts connections but never answers.
        if (error.code !== 'ETIMEDOUT') throw unreachable(messageOf(error))
        throw (await import('./start-daemon.ts')).silentDaemonError(paths, timeoutMs)
      })
      if (!reply) throw hasAnswered ? unreachable('nobody answers') : new DaemonAbsent()
      const answer: unknown = JSON.parse(reply.bytes.toString())
      if (reply.status < 400) {
        if (!hasAnswered) await compareVersions(reply.headers['x-pcc-version'], quiet)
        hasAnswered = true
        return answer as T
      }
      const error = remoteError(answer)
      throw !hasAnswered && 'code' in error && error.code === 'daemon_stopping' ? new DaemonAbsent() : error
    },
    stream: (path, options) => rawStream({ socket, tokenFile, path, unreachable, ...options }),
  }
}

interface RawStream {
  socket: string
  tokenFile: string
  path: string
  after: number
  signal: AbortSignal
  unreachable(problem: string): AppError
}

/** Uses HTTP/1.0, where a body of unknown length is not chunked and ends with the connection. */
async function* rawStream({
  socket,
  tokenFile,
  path,
  after,
  signal,
  unreachable,
}: RawStream): AsyncGenerator<StoredEvent> {
  const connection = connect(socket)
  const disconnect = () => connection.destroy()
  signal.addEventListener('abort', disconnect)
  try {
    const token = readToken(tokenFile) ?? 'none'
    connection.write(
      `GET ${path} HTTP/1.0\r\nHost: pcc\r\nAuthorization: Bearer ${token}\r\nLast-Event-ID: ${after}\r\n\r\n`,
    )
    const chunks = connection[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    const { status, rest } = await readHead(chunks).catch(error => Promise.reject(unreachable(messageOf(error))))
    if (status >= 400) throw remoteError(JSON.parse(await readBody(rest, chunks)))
    yield* serverSentEvents(prepend(rest, chunks), signal)
  } finally {
    signal.removeEventListener('abort', disconnect)
    connection.destroy()
  }
}

async function readHead(chunks: AsyncIterator<Buffer>): Promise<{ status: number; rest: Buffer }> {
  let bytes = Buffer.alloc(0)
  for (;;) {
    const next = await chunks.next()
    if (next.done) throw new Error('it closed the connection without an answer')
    bytes = Buffer.concat([bytes, next.value])
    const head = parseHead(bytes)
    if (head) return head
  }
}

async function* prepend(first: Buffer, chunks: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value
}

async function readBody(first: Buffer, chunks: AsyncIterator<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of prepend(first, chunks)) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}
