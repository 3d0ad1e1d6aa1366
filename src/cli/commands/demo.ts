import type { Command } from 'commander'
import { commandContext, ExitCode } from '../context.ts'

/** `pcc demo`: shows a supervised task in a temporary home and project. */
export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('Watch the real Claude Code do a supervised task with a scripted model: no account, no network')
    .option('--json', 'print events as JSON lines')
    .action(async (_options: unknown, command: Command) => {
      const { runDemo } = await import('./demo-run.ts')
      throw new ExitCode(await runDemo(await commandContext(command)))
    })
}
