import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm, rmdir } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { secretId } from '../base/ids.ts'
import { packagePath } from '../base/program.ts'
import { AgentToolName, type ToolReply } from '../domain/agent-tools.ts'
import type { OwnTools } from './own-tools.ts'

/** The tools of a session as a program that its agent can start. The program gets a folder and finds the rest in it. */
export interface ServedTools extends AsyncDisposable {
  name: string
  command: string
  args: string[]
  /** What a sandbox has to show for it to run. */
  shows: string[]
}

/** Serves the tools of one agent, in a folder of their own. */
export async function serveOwnTools(own: OwnTools): Promise<ServedTools> {
  const folder = await mkdtemp(join(tmpdir(), 'pcc-tools-'))
  const server = await openToolServer(createToolEndpoint(folder, own.server), own)
  return {
    name: own.server,
    ...toolServerCommand(folder),
    shows: [folder, ...ownProgramFiles()],
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const ROOT = packagePath('.')
/** The kernel allows 107 bytes for a socket's path. */
const LONGEST_SOCKET = 100
const FILE = 'tools.json'

/** The socket for a session's tool calls and its token: all that `pcc mcp --seat <folder>` gets. */
const ToolEndpoint = z.object({ server: z.string(), socket: z.string(), token: z.string().min(32) })
export type ToolEndpoint = z.infer<typeof ToolEndpoint>

/**
 * Creates an endpoint in a folder that only its owner may enter. The token is in a file, because some agents put the environment of a server
 * into a command line, where everybody on the machine can read it.
 */
export function createToolEndpoint(folder: string, server: string): ToolEndpoint {
  const inside = join(folder, 'tools.sock')
  const isLong = Buffer.byteLength(inside) > LONGEST_SOCKET
  const socket = isLong ? join(mkdtempSync(join(tmpdir(), 'pcc-tools-')), 'tools.sock') : inside
  const endpoint = { server, socket, token: secretId() }
  writeFileSync(join(folder, FILE), JSON.stringify(endpoint), { mode: 0o600 })
  return endpoint
}

/** The endpoint that an earlier daemon has created in the folder. */
export function findToolEndpoint(folder: string): ToolEndpoint | undefined {
  try {
    return ToolEndpoint.safeParse(JSON.parse(readFileSync(join(folder, FILE), 'utf8'))).data
  } catch {
    return undefined // there is none
  }
}

/** The program that serves the tools of a folder. */
export function toolServerCommand(folder: string): { command: string; args: string[] } {
  return { command: process.execPath, args: [join(ROOT, 'bin/pcc.js'), 'mcp', '--seat', folder] }
}

/** The files of our own program, for a sandbox that has to show them. An installed copy also uses the `node_modules` that contains it. */
function ownProgramFiles(): string[] {
  const at = ROOT.lastIndexOf('/node_modules/')
  const own = ['bin', 'src', 'dist', 'package.json', 'node_modules'].map(name => join(ROOT, name))
  return [...own, ...(at < 0 ? [] : [ROOT.slice(0, at + '/node_modules'.length)])].filter(path => existsSync(path))
}

/** No input of our tools is longer. */
const MOST_BYTES = 1_000_000
/** More calls than a model makes at once. */
const MOST_AT_ONCE = 32

interface ToolHandler {
  names: readonly AgentToolName[]
  /** A client has asked for the names. */
  listed(): void
  call(name: AgentToolName, input: unknown, signal: AbortSignal): Promise<ToolReply>
}

/**
 * Serves the tools of one session to other processes, on a socket of its own, so that a sandbox can show the socket and nothing else of
 * the daemon. Each call is judged on arrival: the token gives no right that the agent itself does not have. The server ends with the
 * session.
 */
export async function openToolServer({ socket, token }: ToolEndpoint, own: ToolHandler): Promise<AsyncDisposable> {
  let running = 0
  const server = createServer((request, reply) => {
    if (!isAuthorized(request.headers.authorization, token)) return answer(reply, 401, refusal('unauthorized'))
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
  // A person may take an hour to answer.
  server.requestTimeout = 0
  rmSync(socket, { force: true })
  server.listen(socket)
  await once(server, 'listening')
  return {
    async [Symbol.asyncDispose]() {
      await close(server)
      await rmdir(dirname(socket)).catch(() => undefined) // only a folder made for the socket alone is empty now
    },
  }
}

type Call = (input: unknown, signal: AbortSignal) => Promise<ToolReply>

async function serve(request: IncomingMessage, reply: ServerResponse, call: Call): Promise<void> {
  const gone = new AbortController()
  reply.once('close', () => gone.abort())
  try {
    answer(reply, 200, await call(JSON.parse(await readBody(request)), gone.signal))
  } catch {
    answer(reply, 200, { ok: false, text: 'Not done: it could not be read. Call it again in another form.' })
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
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

function isAuthorized(authorization: string | undefined, token: string): boolean {
  return timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${token}`))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

const NOT_NOW: ToolReply = { ok: false, text: 'Not done: too many calls at once. Call it again later.' }

function refusal(message: string) {
  return { error: { code: 'no_tools', message, next: '' } }
}
