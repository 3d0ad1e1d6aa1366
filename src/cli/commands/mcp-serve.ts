import { readFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'
import { AppError, messageOf } from '../../base/errors.ts'
import { programVersion } from '../../base/program.ts'
import { AGENT_TOOLS, AgentToolName, OWN_SERVER, type ToolReply } from '../../domain/agent-tools.ts'
import { openClient } from '../connection/client.ts'
import { sessionPath } from '../connection/connection.ts'
import type { CommandContext } from '../context.ts'
import { remoteError } from '../errors.ts'

/**
 * A thin server: each request goes to the daemon with the capability of the session, which checks and does it. Standard output is the
 * protocol's alone. Resolves when the agent has closed its end.
 */
export async function serveTools(door: ToolEndpoint): Promise<void> {
  const list = () => callDaemon<{ tools: AgentToolName[] }>({ ...door, method: 'GET', path: '/agent/tools' })
  // What opens nothing is said before an agent is told that there are tools.
  await list()
  const server = new Server({ name: OWN_SERVER, version: programVersion() }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: (await list()).tools.map(described) }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const name = AgentToolName.safeParse(params.name).data
    const call = {
      ...door,
      method: 'POST' as const,
      path: `/agent/tools/${name}`,
      body: params.arguments ?? {},
      signal,
    }
    const reply = name ? await callDaemon<ToolReply>(call).catch(notDone) : notDone('there is no such tool')
    return { content: [{ type: 'text' as const, text: reply.text }], isError: !reply.ok }
  })
  const over = new Promise<void>(resolve => {
    process.stdin.once('end', resolve)
    process.stdin.once('close', resolve)
  })
  await server.connect(new StdioServerTransport())
  await over
  await server.close()
}

function described(name: AgentToolName): Tool {
  const { description, shape } = AGENT_TOOLS[name]
  return { name, description, inputSchema: z.toJSONSchema(z.object(shape), { io: 'input' }) as Tool['inputSchema'] }
}

function notDone(error: unknown): ToolReply {
  return { ok: false, text: `Not done: ${messageOf(error)}` }
}

/** The variable by which an agent that somebody starts by themselves is given its capability. */
const VARIABLE = 'PCC_TOOLS'

const EndpointFile = z.object({ socket: z.string(), token: z.string() })

/** Where an agent that pcc has started finds the tools of its session. */
export async function readToolEndpoint(folder: string): Promise<ToolEndpoint> {
  try {
    const { socket, token } = EndpointFile.parse(JSON.parse(await readFile(join(folder, 'tools.json'), 'utf8')))
    return { socket, capability: token }
  } catch (error) {
    throw new AppError('no_tools', { problem: `${folder} is none of a session at work (${messageOf(error)})` }, error)
  }
}

/** Where they are for whoever is given a capability, or asks for one at their own terminal. */
export async function toolEndpointFor(session: string | undefined, context: CommandContext): Promise<ToolEndpoint> {
  const capability = session === undefined ? context.env[VARIABLE] : await capabilityFor(session, context)
  if (!capability) throw new AppError('no_tools', { problem: `neither --session nor ${VARIABLE} names one` })
  return { socket: context.paths.socket, capability }
}

/** A person at their own terminal may look at the tools of any session. */
async function capabilityFor(session: string, context: CommandContext): Promise<string> {
  const client = await openClient(context.paths, context)
  const path = `${await sessionPath(session)}/capability`
  return (await client.request<{ capability: string }>('POST', path, {})).capability
}

/** Where the tools of a session are called, and what opens it. */
interface ToolEndpoint {
  socket: string
  capability: string
}

interface DaemonCall extends ToolEndpoint {
  method: 'GET' | 'POST'
  path: string
  body?: unknown
  /** Whoever calls waits no longer: what is asked of a person is called off. */
  signal?: AbortSignal
}

/** Asks the daemon in the name of one session. A daemon that is down is not started: it is what started us. */
export async function callDaemon<T>({ socket, capability, method, path, body, signal }: DaemonCall): Promise<T> {
  const payload = body === undefined ? undefined : JSON.stringify(body)
  const { status, answer } = await new Promise<{ status: number; answer: unknown }>((resolve, reject) => {
    const gone = (error: unknown) =>
      reject(new AppError('no_tools', { problem: `the daemon is gone (${messageOf(error)})` }))
    const request = httpRequest({
      socketPath: socket,
      method,
      path,
      agent: false,
      ...(signal && { signal }),
      headers: {
        host: 'pcc',
        authorization: `Bearer ${capability}`,
        ...(payload && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
      },
    })
    request.once('response', reply =>
      json(reply).then(found => resolve({ status: reply.statusCode ?? 500, answer: found }), gone),
    )
    request.once('error', gone)
    request.end(payload)
  })
  if (status >= 400) throw remoteError(answer)
  return answer as T
}
