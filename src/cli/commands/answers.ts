import type { Command } from 'commander'
import { contextOf } from '../context.ts'

/** `pcc answers list | forget`: what you answered and what counts again. */
export function addAnswersCommand(program: Command): void {
  const answers = program
    .command('answers')
    .description('See what you answered before and what therefore is not asked again; forget it.')

  answers
    .command('list')
    .description('what is remembered, newest first')
    .option('--project <dir>', 'only what counts in this project')
    .option('--json', 'print JSON')
    .action(async (options: { project?: string }, command: Command) => {
      const { listAnswers } = await import('./answers-list.ts')
      await listAnswers(await contextOf(command), options)
    })

  answers
    .command('forget')
    .description('ask me again')
    .argument('<ids...>', 'as pcc answers list shows them, or the beginning of one')
    .option('--json', 'print JSON')
    .action(async (ids: string[], _options: object, command: Command) => {
      const { forgetAnswers } = await import('./answers-list.ts')
      await forgetAnswers(await contextOf(command), ids)
    })
}
