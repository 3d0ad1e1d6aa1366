import type { Command } from 'commander'
import { commandContext } from '../../context.ts'
import type { InitOptions } from './init-project.ts'

/** `pcc init [path]`. Its code is imported on use. */
export function addInitCommand(program: Command): void {
  program
    .command('init')
    .description(
      'Set a project up for pcc: recognise it, write settings, skills and git-ignore lines; keep what exists',
    )
    .argument('[path]', 'the project directory', '.')
    .option('--requirements <file>', 'also import the tasks of this file (Markdown, YAML or text)')
    .option('--skip-index', 'do not index the code; sessions, searches and pcc index do it later')
    .option('--dry-run', 'only show what would be done')
    .option('--force', 'also in your home directory or at the root')
    .option('--json', 'print JSON')
    .action(async (path: string, options: InitOptions, command: Command) => {
      const context = await commandContext(command)
      await (await import('./init-project.ts')).initProject({ path, options, context })
    })
}
