import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { remoteError } from '../errors.ts'
import { parseHead, readToken } from './raw-request.ts'

const { connect } = process.getBuiltinModule('node:net')

/**
 * Follows an event stream until the daemon closes it or the signal is aborted. Uses HTTP/1.0, where a body of unknown length
 * is not chunked and ends with the connection.
 */
export async function* streamEvents(
  { home, socket, tokenFile }: AppPaths,
  path: string,
  { after, signal }: { after: number; signal: AbortSignal },
): AsyncGenerator<StoredEvent> {
  if (signal.aborted) return
  const connection = connect(socket)
  const disconnect = () => connection.destroy()
  signal.addEventListener('abort', disconnect)
  try {
    connection.write(
      `GET ${path} HTTP/1.0\r\nHost: pcc\r\nAuthorization: Bearer ${readToken(tokenFile)}\r\nLast-Event-ID: ${after}\r\n\r\n`,
    )
    const chunks = connection[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    const { status, rest } = await readHead(chunks).catch(error => {
      throw new AppError('daemon_unreachable', { home, problem: messageOf(error) }, error)
    })
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

/** Reads stored events from a server-sent stream; comments (heartbeats) are skipped. Ends quietly when aborted or cut. */
async function* serverSentEvents(stream: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<StoredEvent> {
  const decoder = new TextDecoder()
  let pending = ''
  try {
    for await (const chunk of stream) {
      pending += decoder.decode(chunk, { stream: true })
      const blocks = pending.split('\n\n')
      pending = blocks.pop() ?? ''
      for (const block of blocks) {
        const data = readData(block)
        if (data) yield JSON.parse(data) as StoredEvent
      }
    }
  } catch (error) {
    // A daemon that dies cuts the stream; the caller then checks the session.
    if (!signal.aborted && (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error
  }
}

function readData(block: string): string {
  return block
    .split('\n')
    .filter(line => line.startsWith('data:'))
    .map(line => line.slice(5).trimStart())
    .join('\n')
}
