import { type Command, Option } from 'commander'
import { AppError } from '../../base/errors.ts'
import { GATE_COMMANDS, GATE_PROFILES } from '../../domain/option-values.ts'
import { commandContext } from '../context.ts'

/** `pcc gates`: what is checked before a task is done. The code of each subcommand is imported on use. */
export function addGatesCommand(program: Command): void {
  const gates = program.command('gates').description('Show and run the checks that pcc makes before a task is done')

  gates
    .command('list', { isDefault: true })
    .description('List the gates of a project; for a task also their results')
    .argument('[target]', 'a project directory or a task', '.')
    .option('--json', 'print JSON')
    .action(async (target: string, _options: object, command: Command) => {
      await (await import('./gates-run.ts')).listGates(target, await commandContext(command))
    })

  gates
    .command('detect')
    .description('Find the commands that build and check a project; --write puts them into .perpetualcc.toml')
    .argument('[path]', 'the project directory', '.')
    .option('--write', 'write those that are not set yet; they apply after pcc trust')
    .option('--trust', 'with --write: agree to them too')
    .option('--json', 'print JSON')
    .action(async (path: string, options: { write?: true; trust?: true }, command: Command) => {
      const context = await commandContext(command)
      const [write, trust] = [options.write === true, options.trust === true]
      if (trust && !write)
        throw new AppError('usage', { problem: '--trust goes with --write', command: 'gates detect' })
      await (await import('./gates-run.ts')).detectGates({ path, write, trust, context })
    })

  gates
    .command('run')
    .description('Run the gates now, in a project or in the directory of a task, and show the results')
    .argument('[target]', 'a project directory or a task', '.')
    .addOption(new Option('--only <gates...>', 'only these').choices([...GATE_COMMANDS]))
    .addOption(new Option('--profile <profile>', 'use this profile').choices([...GATE_PROFILES]))
    .option('--json', 'print JSON')
    .action(async (target: string, options: object, command: Command) => {
      await (await import('./gates-run.ts')).runGates({ target, ...options, context: await commandContext(command) })
    })
}
