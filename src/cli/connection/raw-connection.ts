import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { remoteError } from '../errors.ts'
import { compareVersions } from '../hot-commands.ts'
import { type DaemonConnection, serverSentEvents } from './connection.ts'
import { ANSWER_MS, parseHead, rawRequest, tokenIn } from './raw-request.ts'

const { connect } = process.getBuiltinModule('node:net')

/** The daemon is not there, or is going: the long way starts one. */
export class DaemonAbsent extends Error {}

interface RawOptions {
  quiet: boolean
  /** How long one that takes a connection may say nothing. */
  patienceMs?: number
}

/**
 * A running daemon by hand-written requests. The first one may find nobody, which is `NobodyAnswers`; a daemon that has
 * answered and then is gone is an error.
 */
export function rawConnection(paths: AppPaths, { quiet, patienceMs = ANSWER_MS }: RawOptions): DaemonConnection {
  const { home, socket, tokenFile } = paths
  let met = false
  const unreachable = (problem: string) => new AppError('daemon_unreachable', { home, problem })
  return {
    async request<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) {
      const asked = rawRequest({ socket, tokenFile, method, path, body, timeoutMs: patienceMs })
      const reply = await asked.catch(async error => {
        // One that was stopped still takes connections: whoever waits for its word waits for ever.
        if (error.code !== 'ETIMEDOUT') throw unreachable(messageOf(error))
        throw (await import('./start-daemon.ts')).silentDaemonError(paths, patienceMs)
      })
      if (!reply) throw met ? unreachable('nobody answers') : new DaemonAbsent()
      const answer: unknown = JSON.parse(reply.bytes.toString())
      if (reply.status < 400) {
        if (!met) await compareVersions(reply.headers['x-pcc-version'], quiet)
        met = true
        return answer as T
      }
      const error = remoteError(answer)
      throw !met && 'code' in error && error.code === 'daemon_stopping' ? new DaemonAbsent() : error
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

/** HTTP/1.0, in which a body of unknown length has no frames and ends with the connection. */
async function* rawStream({
  socket,
  tokenFile,
  path,
  after,
  signal,
  unreachable,
}: RawStream): AsyncGenerator<StoredEvent> {
  const connection = connect(socket)
  const leave = () => connection.destroy()
  signal.addEventListener('abort', leave)
  try {
    const token = tokenIn(tokenFile) ?? 'none'
    connection.write(
      `GET ${path} HTTP/1.0\r\nHost: pcc\r\nAuthorization: Bearer ${token}\r\nLast-Event-ID: ${after}\r\n\r\n`,
    )
    const chunks = connection[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    const { status, rest } = await headOf(chunks).catch(error => Promise.reject(unreachable(messageOf(error))))
    if (status >= 400) throw remoteError(JSON.parse(await restOf(rest, chunks)))
    yield* serverSentEvents(joined(rest, chunks), signal)
  } finally {
    signal.removeEventListener('abort', leave)
    connection.destroy()
  }
}

async function headOf(chunks: AsyncIterator<Buffer>): Promise<{ status: number; rest: Buffer }> {
  let bytes = Buffer.alloc(0)
  for (;;) {
    const next = await chunks.next()
    if (next.done) throw new Error('it closed the connection without an answer')
    bytes = Buffer.concat([bytes, next.value])
    const head = parseHead(bytes)
    if (head) return head
  }
}

async function* joined(first: Buffer, chunks: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value
}

async function restOf(first: Buffer, chunks: AsyncIterator<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of joined(first, chunks)) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}
