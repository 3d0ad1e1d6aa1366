import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { lstat, mkdtemp, readdir, rm, rmdir } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { secretId } from '../base/ids.ts'
import { isFromMarked } from '../base/process/peer.ts'
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

/** Serves the tools of one agent, in a folder of their own, to processes that carry the agent's marker. */
export async function serveOwnTools(own: OwnTools, marker?: string): Promise<ServedTools> {
  const folder = await mkdtemp(join(tmpdir(), FOLDER))
  const server = await openSessionServer(createToolEndpoint(folder, own.server), { tools: own, marker })
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
/** How the folders of endpoints begin that are not in the folder of their session. */
const FOLDER = 'pcc-tools-'

/** The socket of one session and the token that it wants: all that an agent's processes get of the daemon. */
export interface SessionEndpoint {
  socket: string
  token: string
}

/** Creates the endpoint of a session, in its folder if the path is short enough. */
export function createEndpoint(folder: string): SessionEndpoint {
  const inside = join(folder, 'session.sock')
  const isLong = Buffer.byteLength(inside) > LONGEST_SOCKET
  return { socket: isLong ? join(mkdtempSync(join(tmpdir(), FOLDER)), 'session.sock') : inside, token: secretId() }
}

/** What `pcc mcp --seat <folder>` gets. */
const ToolEndpoint = z.object({ server: z.string(), socket: z.string(), token: z.string().min(32) })
export type ToolEndpoint = z.infer<typeof ToolEndpoint>

/**
 * Writes an endpoint into a folder that only its owner may enter. The token is in a file, because some agents put the environment of a server
 * into a command line, where everybody on the machine can read it.
 */
export function createToolEndpoint(folder: string, server: string, at = createEndpoint(folder)): ToolEndpoint {
  const endpoint = { server, socket: at.socket, token: at.token }
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
export function ownProgramFiles(): string[] {
  const at = ROOT.lastIndexOf('/node_modules/')
  const own = ['bin', 'src', 'dist', 'bundled', 'package.json', 'node_modules'].map(name => join(ROOT, name))
  return [...own, ...(at < 0 ? [] : [ROOT.slice(0, at + '/node_modules'.length)])].filter(path => existsSync(path))
}

/** No input of our tools is longer. */
const MOST_BYTES = 1_000_000
/** Somewhat more than `pcc hook` sends. */
const MOST_HOOK_BYTES = 4_500_000
/** More calls than a model makes at once. */
const MOST_AT_ONCE = 32

interface ToolHandler {
  names: readonly AgentToolName[]
  /** A client has asked for the names. */
  listed(): void
  call(name: AgentToolName, input: unknown, signal: AbortSignal): Promise<ToolReply>
}

export interface HookCall {
  event: string
  input: unknown
  /** Aborted when the hook itself is gone. */
  signal: AbortSignal
}

/** The answer of a hook to the agent; undefined means that it has no opinion. */
export type HookReply = Record<string, unknown> | undefined

interface SessionHandlers {
  tools?: ToolHandler | undefined
  /** Takes the events of an agent in a terminal. */
  hook?: ((call: HookCall) => Promise<HookReply>) | undefined
  /** Only processes that carry this marker are heard. */
  marker?: string | undefined
}

/**
 * Serves the tools and hooks of one session to the processes of its agent, on a socket of its own, so that a sandbox can show the socket
 * and nothing else of the daemon. Each call is judged on arrival: the token gives no right that the agent itself does not have. The
 * server ends with the session.
 */
export async function openSessionServer(
  { socket, token }: SessionEndpoint,
  { tools, hook, marker }: SessionHandlers,
): Promise<AsyncDisposable> {
  let running = 0
  const handle = async (request: IncomingMessage, reply: ServerResponse) => {
    if (!isAuthorized(request.headers.authorization, token)) return answer(reply, 401, refusal('unauthorized'))
    if (marker !== undefined && !(await isFromMarked(request.socket, marker)))
      return answer(reply, 403, refusal('only processes of its own agent may call this session'))
    const [, event] = HOOK_PATH.exec(request.url ?? '') ?? []
    if (hook && event !== undefined && request.method === 'POST') return serveHook(request, reply, { event, hook })
    if (!tools) return answer(reply, 404, refusal('this session has no tools'))
    if (request.method === 'GET') {
      tools.listed()
      return answer(reply, 200, { tools: tools.names })
    }
    const name = AgentToolName.safeParse(request.url?.slice('/agent/tools/'.length)).data
    if (!name || !tools.names.includes(name)) return answer(reply, 404, refusal('no such tool'))
    if (running >= MOST_AT_ONCE) return answer(reply, 200, NOT_NOW)
    running++
    await serveTool(request, reply, (input, signal) => tools.call(name, input, signal)).finally(() => running--)
  }
  const server = createServer((request, reply) => {
    handle(request, reply).catch(() => answer(reply, 500, refusal('it failed')))
  })
  // A person may take an hour to answer.
  server.requestTimeout = 0
  rmSync(socket, { force: true })
  server.listen(socket)
  await once(server, 'listening')
  chmodSync(socket, 0o600)
  return {
    async [Symbol.asyncDispose]() {
      await close(server)
      await rmdir(dirname(socket)).catch(() => undefined) // only a folder made for the socket alone is empty now
    },
  }
}

const HOOK_PATH = /^\/hooks\/claude\/([A-Z][A-Za-z]{2,40})$/

async function serveHook(
  request: IncomingMessage,
  reply: ServerResponse,
  { event, hook }: { event: string; hook: NonNullable<SessionHandlers['hook']> },
): Promise<void> {
  // A hook process that was killed waits for no reply.
  const gone = abortWhenClosed(reply)
  const text = await readBody(request, MOST_HOOK_BYTES)
  const input: unknown = text === '' ? undefined : JSON.parse(text)
  answer(reply, 200, { reply: (await hook({ event, input, signal: gone })) ?? null })
}

type Call = (input: unknown, signal: AbortSignal) => Promise<ToolReply>

async function serveTool(request: IncomingMessage, reply: ServerResponse, call: Call): Promise<void> {
  const gone = abortWhenClosed(reply)
  try {
    answer(reply, 200, await call(JSON.parse(await readBody(request, MOST_BYTES)), gone))
  } catch {
    answer(reply, 200, { ok: false, text: 'Not done: it could not be read. Call it again in another form.' })
  }
}

function abortWhenClosed(reply: ServerResponse): AbortSignal {
  const gone = new AbortController()
  reply.once('close', () => gone.abort())
  return gone.signal
}

async function readBody(request: IncomingMessage, mostBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > mostBytes) throw new Error('too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function answer(reply: ServerResponse, status: number, body: unknown): void {
  if (reply.headersSent) return
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

/** A folder without a socket may belong to a server that is about to listen. */
const LISTENS_WITHIN_MS = 60_000

/** Removes the folders that servers of a killed daemon left: nobody answers on their socket. */
export async function sweepEndpoints(): Promise<void> {
  const names = (await readdir(tmpdir())).filter(name => name.startsWith(FOLDER))
  for (const folder of names.map(name => join(tmpdir(), name))) {
    const found = await lstat(folder).catch(() => undefined)
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue
    if (Date.now() - found.mtimeMs < LISTENS_WITHIN_MS) continue
    const sockets = ['session.sock', 'tools.sock'].map(name => join(folder, name))
    if (!(await Promise.all(sockets.map(isAnswering))).includes(true))
      await rm(folder, { recursive: true, force: true })
  }
}

function isAnswering(socket: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect(socket, () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    )
  })
}
