import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { lstatSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import * as z from 'zod'
import type { AppPaths } from '../base/app-paths.ts'
import { messageOf } from '../base/errors.ts'
import { replaceFile } from '../base/files.ts'
import { secretId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import type { HookOutput } from '../domain/hooks.ts'
import { digest } from './routes/guard.ts'

/** The port and the key that the settings of Claude Code name. They stay the same when the daemon restarts. */
const ListenerAddress = z.object({ port: z.int().min(1).max(65_535), key: z.string().min(32) })
export type ListenerAddress = z.infer<typeof ListenerAddress>

/** What a hook asks, and its answer in the vendor's words. */
export type AnswerHook = (call: {
  native: string
  body: unknown
  socket: Socket
  signal: AbortSignal
}) => Promise<HookOutput>

export interface HookListener extends AsyncDisposable {
  /** Listens if that was set up and it does not yet; returns the port. */
  open(): Promise<number | undefined>
}

/**
 * Answers the hooks of Claude Code over loopback (`pcc hooks install --http`), and nothing else: its key opens no other route, and no
 * other key opens these. Everything that is not plainly a hook of ours gets an error, and Claude Code then blocks the call.
 */
export function openHookListener(
  paths: Pick<AppPaths, 'home'>,
  { answer, log }: { answer: AnswerHook; log: Log },
): HookListener {
  let server: Server | undefined
  const ending = new AbortController()
  return {
    async open() {
      const place = readListener(paths)
      if (!place || server?.listening) return place?.port
      const fresh = createServer(
        (request, response) => void serveHook({ request, response, place, answer, log, ending: ending.signal }),
      )
      fresh.keepAliveTimeout = 60_000
      fresh.headersTimeout = 5_000
      try {
        fresh.listen({ port: place.port, host: LOOPBACK, exclusive: true })
        await once(fresh, 'listening')
        server = fresh
        return place.port
      } catch (error) {
        log.error({ error, port: place.port }, 'hooks over HTTP cannot be answered: the port is taken')
        return undefined
      }
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      if (!server?.listening) return
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const LOOPBACK = '127.0.0.1'

/** Where the listener is, if one was set up. A file that others could read or that is not ours does not count. */
export function readListener(paths: Pick<AppPaths, 'home'>): ListenerAddress | undefined {
  const file = listenerFile(paths)
  const stats = lstatSync(file, { throwIfNoEntry: false })
  if (!stats?.isFile() || stats.uid !== process.getuid?.() || (stats.mode & 0o077) !== 0) return undefined
  try {
    return ListenerAddress.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined // damaged: a new one is made when hooks are installed again
  }
}

/** Chooses a port and a key, once. */
export async function reserveListener(paths: Pick<AppPaths, 'home'>): Promise<ListenerAddress> {
  const known = readListener(paths)
  if (known) return known
  const place = { port: await findFreePort(), key: secretId() }
  rmSync(listenerFile(paths), { force: true }) // a link is not followed
  replaceFile(listenerFile(paths), `${JSON.stringify(place)}\n`)
  return place
}

function listenerFile({ home }: Pick<AppPaths, 'home'>): string {
  return join(home, 'hooks', 'listener.json')
}

async function findFreePort(): Promise<number> {
  const probe = createTcpServer().listen({ port: 0, host: LOOPBACK })
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

interface HookExchange {
  request: IncomingMessage
  response: ServerResponse
  place: ListenerAddress
  answer: AnswerHook
  log: Log
  ending: AbortSignal
}

async function serveHook({ request, response, place, answer, log, ending }: HookExchange): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  try {
    const native = readRoute(request, place)
    if (typeof native === 'number') return sendAndClose(response, native)
    const body = await readBody(request)
    if (body === undefined) return sendAndClose(response, 413)
    const signal = AbortSignal.any([gone.signal, ending])
    const { stdout, stderr, exit } = await answer({ native, body: JSON.parse(body), socket: request.socket, signal })
    // A hook that exits with an error says no; over HTTP an error says it.
    if (exit !== 0) response.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' }).end(stderr)
    else if (stdout === '') response.writeHead(204).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(stdout)
  } catch (error) {
    log.error({ error: messageOf(error) }, 'a hook over HTTP was not answered')
    if (!response.headersSent) sendAndClose(response, 500)
  }
}

/** The event that a request is about, or the status that refuses it. A web page that was tricked into asking us names itself. */
function readRoute({ method, url = '', headers }: IncomingMessage, { port, key }: ListenerAddress): string | number {
  if (headers.host !== `${LOOPBACK}:${port}` || headers.origin !== undefined) return 403
  const [scheme, given = ''] = (headers.authorization ?? '').split(' ')
  if (scheme?.toLowerCase() !== 'bearer' || !timingSafeEqual(digest(given), digest(key))) return 401
  const native = /^\/hooks\/claude\/([A-Z][A-Za-z]{2,40})$/.exec(url)?.[1]
  if (native === undefined) return 404
  if (method !== 'POST') return 405
  return /^application\/json\b/.test(headers['content-type'] ?? '') ? native : 415
}

/** A call with a larger input is refused, not judged. */
const MAX_BYTES = 8_000_000

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > MAX_BYTES) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** What is left of the request is not read. */
function sendAndClose(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: 'close' }).end()
}
