import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'
import { messageOf } from '../../base/errors.ts'
import { programVersion } from '../../base/version.ts'
import { AGENT_TOOLS, AgentToolName, OWN_SERVER, type ToolReply } from '../../domain/tools/agent-tools.ts'
import { callDaemon, type Door } from './call-daemon.ts'

/**
 * A thin server: each request goes to the daemon with the capability of the session, which checks and does it. Standard output is the
 * protocol's alone. Resolves when the agent has closed its end.
 */
export async function serveTools(door: Door): Promise<void> {
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
