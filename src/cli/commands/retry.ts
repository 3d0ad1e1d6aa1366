import type { Command } from 'commander'
import { contextOf, ExitCode } from '../context.ts'
import { type ResumeOptions, runResume } from './resume.ts'

/** `pcc retry`: what failed is tried once more. */
export function addRetryCommand(program: Command): void {
  program
    .command('retry')
    .description('Try a session again that failed, in its own conversation.')
    .argument('<session>', 'id, unique beginning of an id, or name')
    .option('--detach', 'try it in the background')
    .option('--json', 'print events as JSON lines (with --detach: the session as JSON)')
    .action(async (ref: string, options: ResumeOptions, command: Command) => {
      throw new ExitCode(await runResume({ ref, by: 'retry', options, context: await contextOf(command) }))
    })
}
