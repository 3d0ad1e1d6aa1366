import type { Command } from 'commander'
import { commandContext } from '../context.ts'
import { refuseInSession } from '../options.ts'

/** `pcc mcp`: serves the tools of a session to an agent over standard input and output. */
export function addMcpCommand(program: Command): void {
  program
    .command('mcp')
    .description('Serve the tools of a session to its agent (MCP over standard input and output)')
    .option('--seat <folder>', 'the folder of a session, for the agent that pcc has started for it')
    .option('--session <session>', 'the running session that they belong to; PCC_TOOLS names it otherwise')
    .addHelpText(
      'after',
      '\nAn agent that is started by pcc gets these tools without this command, or with PCC_TOOLS set for it.\nThe tools are listed in: pcc docs features',
    )
    .action(async ({ session, seat }: { session?: string; seat?: string }, command: Command) => {
      const { readToolEndpoint, serveTools, findToolEndpoint } = await import('./mcp-serve.ts')
      if (seat !== undefined) return serveTools(await readToolEndpoint(seat))
      const context = await commandContext(command)
      // Only its capability says which session an agent speaks for, never anything that it could type.
      if (session !== undefined) refuseInSession(context.env, 'mcp --session …')
      await serveTools(await findToolEndpoint(session, context))
    })
}
