import type { Command } from 'commander'
import { budgetOption } from '../../budget/option.ts'
import { contextOf, ExitCode } from '../../context.ts'
import { type TakeUpOptions, takeUp } from './take-up.ts'

/** `pcc resume`: a session that stands still goes on, where it stopped or from a checkpoint. */
export function addResumeCommand(program: Command): void {
  program
    .command('resume')
    .description('Go on with a session that is paused, limited, stopped or failed, in its own conversation.')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a run or a task')
    .option('--from <checkpoint>', 'go on from this one, in a new conversation (see: pcc checkpoints <session>)')
    .option('--budget <amounts>', 'most that it may spend in all from now on, as in "10 usd"', budgetOption)
    .option('--detach', 'go on in the background')
    .option('--json', 'print events as JSON lines (with --detach: the session as JSON)')
    .action(async (ref: string, options: TakeUpOptions, command: Command) => {
      throw new ExitCode(await takeUp({ ref, by: 'resume', options, context: await contextOf(command) }))
    })
}
