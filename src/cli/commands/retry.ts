import type { Command } from 'commander'
import { commandContext, ExitCode } from '../context.ts'
import { type ResumeOptions, runResume } from './resume.ts'

/** `pcc retry`: tries a failed session once more. */
export function addRetryCommand(program: Command): void {
  program
    .command('retry')
    .description('Try a failed session again, in its own conversation')
    .argument('<session>', 'id, unique beginning of an id, or name')
    .option('--detach', 'try it in the background')
    .option('--json', 'print events as JSON lines (with --detach: the session as JSON)')
    .action(async (ref: string, options: ResumeOptions, command: Command) => {
      throw new ExitCode(await runResume({ ref, verb: 'retry', options, context: await commandContext(command) }))
    })
}
