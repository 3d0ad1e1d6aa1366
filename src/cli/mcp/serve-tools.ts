import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { AppError, messageOf } from '../../base/errors.ts'
import { programVersion } from '../../base/version.ts'
import { AGENT_TOOLS, type AgentToolName, OWN_SERVER, type ToolReply } from '../../domain/tools/agent-tools.ts'
import { openClient } from '../client.ts'
import { sessionPath } from '../connection/session-path.ts'
import type { Context } from '../context.ts'
import { callDaemon } from './call-daemon.ts'

/** The variable by which an agent that we start is given its capability. */
const VARIABLE = 'PCC_TOOLS'

/**
 * A thin server: each call goes to the daemon with the capability of the session, which checks and does it. Standard output is the
 * protocol's alone. Resolves when the agent has closed its end.
 */
export async function serveTools(session: string | undefined, context: Context): Promise<void> {
  const capability = session === undefined ? context.env[VARIABLE] : await capabilityFor(session, context)
  if (!capability) throw new AppError('no_tools', { problem: `neither --session nor ${VARIABLE} names one` })
  const { socket } = context.places
  const ask = <T>(method: 'GET' | 'POST', path: string, body?: unknown) =>
    callDaemon<T>({ socket, capability, method, path, body })
  const { tools } = await ask<{ tools: AgentToolName[] }>('GET', '/agent/tools')
  const server = new McpServer({ name: OWN_SERVER, version: programVersion() })
  for (const name of tools) {
    const { description, shape } = AGENT_TOOLS[name]
    server.registerTool(name, { description, inputSchema: shape }, async (input: unknown) => {
      const reply = await ask<ToolReply>('POST', `/agent/tools/${name}`, input).catch(notDone)
      return { content: [{ type: 'text' as const, text: reply.text }], isError: !reply.ok }
    })
  }
  const over = new Promise<void>(resolve => {
    process.stdin.once('end', resolve)
    process.stdin.once('close', resolve)
  })
  await server.connect(new StdioServerTransport())
  await over
  await server.close()
}

function notDone(error: unknown): ToolReply {
  return { ok: false, text: `Not done: ${messageOf(error)}` }
}

/** A person at their own terminal may look at the tools of any session. */
async function capabilityFor(session: string, context: Context): Promise<string> {
  const client = await openClient(context.places, context)
  const path = `${await sessionPath(session)}/capability`
  return (await client.request<{ capability: string }>('POST', path, {})).capability
}
