import type { Command } from 'commander'
import { commandContext } from '../context.ts'

/** `pcc answers list | forget`: the answers that pcc remembers and reuses. */
export function addAnswersCommand(program: Command): void {
  const answers = program
    .command('answers')
    .description('List the answers that pcc remembers and reuses, or forget some of them')

  answers
    .command('list')
    .description('List the remembered answers, newest first')
    .option('--project <dir>', 'only answers that apply in this project')
    .option('--json', 'print JSON')
    .action(async (options: { project?: string }, command: Command) => {
      const { listAnswers } = await import('./answers-list.ts')
      await listAnswers(await commandContext(command), options)
    })

  answers
    .command('forget')
    .description('Forget answers, so that you are asked again')
    .argument('<ids...>', 'as pcc answers list shows them, or the beginning of one')
    .option('--json', 'print JSON')
    .action(async (ids: string[], _options: object, command: Command) => {
      const { forgetAnswers } = await import('./answers-list.ts')
      await forgetAnswers(await commandContext(command), ids)
    })
}
