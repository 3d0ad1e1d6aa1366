import type { Command } from 'commander'
import { contextOf } from '../context.ts'
import { refuseInSession } from '../options.ts'

/** `pcc mcp`: the tools of a session, for an agent that takes them over standard input and output. */
export function addMcpCommand(program: Command): void {
  program
    .command('mcp')
    .description('Serve the tools of a session to its agent (MCP over standard input and output).')
    .option('--seat <folder>', 'the folder of a session, for the agent that pcc has started for it')
    .option('--session <session>', 'the session at work that they belong to; without it PCC_TOOLS says it')
    .addHelpText(
      'after',
      '\nAn agent that is started by pcc gets these tools without this command, or with PCC_TOOLS set for it.\nThe tools: add_task, add_dependency, log, done, failed, ask_human, record_note, search.',
    )
    .action(async ({ session, seat }: { session?: string; seat?: string }, command: Command) => {
      if (seat !== undefined) {
        const { readToolEndpoint } = await import('./mcp-serve.ts')
        const { serveTools } = await import('./mcp-serve.ts')
        return serveTools(await readToolEndpoint(seat))
      }
      const context = await contextOf(command)
      // Which session an agent speaks for is said by its capability, and by nothing that it could type.
      if (session !== undefined) refuseInSession(context.env, 'mcp --session …')
      const { serveTools } = await import('./mcp-serve.ts')
      const { toolEndpointFor } = await import('./mcp-serve.ts')
      await serveTools(await toolEndpointFor(session, context))
    })
}
