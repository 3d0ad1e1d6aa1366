import type { Command } from 'commander'
import { contextOf, ExitCode } from '../context.ts'
import { handOver } from './takeover.ts'

/** `pcc handback`: pcc goes on with the session. */
export function addHandbackCommand(program: Command): void {
  program
    .command('handback')
    .description('Give a terminal back that you took: pcc goes on with the session.')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a task')
    .option('--json', 'print JSON')
    .action(async (ref: string, _options: unknown, command: Command) => {
      await handOver(ref, 'handback', await contextOf(command))
      throw new ExitCode(0)
    })
}
