import type { Command } from 'commander'
import { commandContext, ExitCode } from '../context.ts'
import { handOver } from './takeover.ts'

/** `pcc handback`: gives a session that a person took over back to pcc. */
export function addHandbackCommand(program: Command): void {
  program
    .command('handback')
    .description('Give back a terminal that you took over: pcc goes on with the session')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a task')
    .option('--json', 'print JSON')
    .action(async (ref: string, _options: unknown, command: Command) => {
      await handOver(ref, 'handback', await commandContext(command))
      throw new ExitCode(0)
    })
}
