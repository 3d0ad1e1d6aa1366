import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { rmdir } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { dirname } from 'node:path'
import { AgentToolName, type ToolReply } from '../../domain/tools/agent-tools.ts'
import type { Place } from './place.ts'

/** No input of a tool of ours is longer. */
const MOST_BYTES = 1_000_000
/** More calls than a model makes at once. */
const MOST_AT_ONCE = 32

interface Called {
  names: readonly AgentToolName[]
  /** Somebody has asked for their names. */
  listed(): void
  call(name: AgentToolName, input: unknown, signal: AbortSignal): Promise<ToolReply>
}

/**
 * Where the tools of one session are called from outside of this process: a socket of its own, so that a sandbox can show it and
 * nothing else of the daemon. Each call is judged on arrival: to hold the token gives no right that the agent itself does not
 * have. It ends with the session.
 */
export async function openDoor({ socket, token }: Place, own: Called): Promise<AsyncDisposable> {
  let running = 0
  const server = createServer((request, reply) => {
    if (!isOpenedBy(request.headers.authorization, token)) return answer(reply, 401, refusal('unauthorized'))
    if (request.method === 'GET') {
      own.listed()
      return answer(reply, 200, { tools: own.names })
    }
    const name = AgentToolName.safeParse(request.url?.slice('/agent/tools/'.length)).data
    if (!name || !own.names.includes(name)) return answer(reply, 404, refusal('no such tool'))
    if (running >= MOST_AT_ONCE) return answer(reply, 200, NOT_NOW)
    running++
    void serve(request, reply, (input, signal) => own.call(name, input, signal)).finally(() => running--)
  })
  // A person may take an hour for an answer.
  server.requestTimeout = 0
  rmSync(socket, { force: true })
  server.listen(socket)
  await once(server, 'listening')
  return {
    async [Symbol.asyncDispose]() {
      await close(server)
      await rmdir(dirname(socket)).catch(() => undefined) // it was made for the socket alone only where it is empty now
    },
  }
}

type Call = (input: unknown, signal: AbortSignal) => Promise<ToolReply>

async function serve(request: IncomingMessage, reply: ServerResponse, call: Call): Promise<void> {
  const gone = new AbortController()
  reply.once('close', () => gone.abort())
  try {
    answer(reply, 200, await call(JSON.parse(await textOf(request)), gone.signal))
  } catch {
    answer(reply, 200, { ok: false, text: 'Not done: it could not be read. Call it again in another form.' })
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MOST_BYTES) throw new Error('too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function answer(reply: ServerResponse, status: number, body: unknown): void {
  reply.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  reply.end(JSON.stringify(body))
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>(resolve => void server.close(() => resolve()))
}

function isOpenedBy(authorization: string | undefined, token: string): boolean {
  return timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${token}`))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

const NOT_NOW: ToolReply = { ok: false, text: 'Not done: too many calls at once. Call it again later.' }

function refusal(message: string) {
  return { error: { code: 'no_tools', message, next: '' } }
}
