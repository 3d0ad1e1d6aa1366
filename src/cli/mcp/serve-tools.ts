import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { messageOf } from '../../base/errors.ts'
import { programVersion } from '../../base/version.ts'
import { AGENT_TOOLS, type AgentToolName, OWN_SERVER, type ToolReply } from '../../domain/tools/agent-tools.ts'
import { callDaemon, type Door } from './call-daemon.ts'

/**
 * A thin server: each call goes to the daemon with the capability of the session, which checks and does it. Standard output is the
 * protocol's alone. Resolves when the agent has closed its end.
 */
export async function serveTools(door: Door): Promise<void> {
  const ask = <T>(method: 'GET' | 'POST', path: string, body?: unknown) =>
    callDaemon<T>({ ...door, method, path, body })
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
