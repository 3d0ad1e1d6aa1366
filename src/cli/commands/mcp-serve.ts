import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'
import { AppError, messageOf } from '../../base/errors.ts'
import { programVersion } from '../../base/program.ts'
import { AGENT_TOOLS, AgentToolName, type ToolReply } from '../../domain/agent-tools.ts'
import { OWN_SERVER } from '../../domain/own-server.ts'
import { openClient } from '../connection/client.ts'
import { sessionPath } from '../connection/connection.ts'
import { rawRequest } from '../connection/raw-request.ts'
import type { CommandContext } from '../context.ts'
import { remoteError } from '../errors.ts'

/**
 * A thin MCP server: it passes each request to the daemon with the capability of the session, and the daemon checks and
 * performs it. Only the protocol may use standard output. Resolves when the agent has closed its end.
 */
export async function serveTools(endpoint: ToolEndpoint): Promise<void> {
  const list = () => callDaemon<{ tools: AgentToolName[] }>({ ...endpoint, method: 'GET', path: '/agent/tools' })
  // A capability that is not valid fails here, before the agent learns of any tools.
  await list()
  const server = new Server({ name: OWN_SERVER, version: programVersion() }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: (await list()).tools.map(describeTool) }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const name = AgentToolName.safeParse(params.name).data
    const call = {
      ...endpoint,
      method: 'POST' as const,
      path: `/agent/tools/${name}`,
      body: params.arguments ?? {},
      signal,
    }
    const reply = name ? await callDaemon<ToolReply>(call).catch(notDone) : notDone('there is no such tool')
    return { content: [{ type: 'text' as const, text: reply.text }], isError: !reply.ok }
  })
  const closed = new Promise<void>(resolve => {
    process.stdin.once('end', resolve)
    process.stdin.once('close', resolve)
  })
  await server.connect(new StdioServerTransport())
  await closed
  await server.close()
}

function describeTool(name: AgentToolName): Tool {
  const { description, shape } = AGENT_TOOLS[name]
  return { name, description, inputSchema: z.toJSONSchema(z.object(shape), { io: 'input' }) as Tool['inputSchema'] }
}

function notDone(error: unknown): ToolReply {
  return { ok: false, text: `Not done: ${messageOf(error)}` }
}

/** The variable that gives a capability to an agent which pcc did not start. */
const VARIABLE = 'PCC_TOOLS'

const EndpointFile = z.object({ socket: z.string(), token: z.string() })

/** Reads the endpoint from the session's folder, for an agent that pcc has started. */
export async function readToolEndpoint(folder: string): Promise<ToolEndpoint> {
  try {
    const { socket, token } = EndpointFile.parse(JSON.parse(await readFile(join(folder, 'tools.json'), 'utf8')))
    return { socket, capability: token }
  } catch (error) {
    throw new AppError(
      'no_tools',
      { problem: `${folder} is not the folder of a running session (${messageOf(error)})` },
      error,
    )
  }
}

/** The endpoint for a capability from the environment, or for a person who names a session at their own terminal. */
export async function findToolEndpoint(session: string | undefined, context: CommandContext): Promise<ToolEndpoint> {
  const capability = session === undefined ? context.env[VARIABLE] : await requestCapability(session, context)
  if (!capability) throw new AppError('no_tools', { problem: `neither --session nor ${VARIABLE} names one` })
  return { socket: context.paths.socket, capability }
}

/** A person at their own terminal may use the tools of any session. */
async function requestCapability(session: string, context: CommandContext): Promise<string> {
  const client = await openClient(context.paths, context)
  const path = `${await sessionPath(session)}/capability`
  return (await client.request<{ capability: string }>('POST', path, {})).capability
}

/** The socket on which the tools of a session are called, and the capability that permits it. */
interface ToolEndpoint {
  socket: string
  capability: string
}

interface DaemonCall extends ToolEndpoint {
  method: 'GET' | 'POST'
  path: string
  body?: unknown
  /** Aborted when the caller no longer waits: a question to a person is then withdrawn. */
  signal?: AbortSignal
}

/** Calls the daemon on behalf of one session. A daemon that is down is not started, as it is the one that started us. */
export async function callDaemon<T>({ socket, capability, method, path, body, signal }: DaemonCall): Promise<T> {
  const gone = (problem: string) => new AppError('no_tools', { problem: `the daemon is gone (${problem})` })
  const reply = await rawRequest({ socket, token: capability, method, path, body, timeoutMs: 0, signal }).catch(
    error => {
      throw gone(messageOf(error))
    },
  )
  if (!reply) throw gone('nobody answers')
  const answer: unknown = JSON.parse(reply.bytes.toString())
  if (reply.status >= 400) throw remoteError(answer)
  return answer as T
}
