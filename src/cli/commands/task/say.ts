import type { Command } from 'commander'
import type { TaskView } from '../../../domain/task.ts'
import { taskLine } from '../../tasks/words.ts'
import { taskCall, taskPath } from './call.ts'

const WORDS = [
  ['done', 'Say that a task is done, whatever it is now. What comes after it becomes ready.'],
  ['fail', 'Say that a task failed.'],
  ['reset', 'Let a task be done anew; with parts, all of them.'],
  ['cancel', 'A task is not to be done; with parts, none of them.'],
] as const

/** `pcc task done | fail | reset | cancel`. */
export function addSayCommands(task: Command): void {
  for (const [word, description] of WORDS) {
    task
      .command(word)
      .description(description)
      .argument('<task...>', 'ids, or unique beginnings of them')
      .option('-r, --reason <text>', 'why')
      .option('--json', 'print JSON')
      .action(async (refs: string[], { reason }: { reason?: string }, command: Command) => {
        const { client, show } = await taskCall(command, { writes: true })
        const tasks: TaskView[] = []
        const body = reason === undefined ? {} : { reason }
        for (const ref of refs) {
          const answer = await client.request<{ task: TaskView }>('POST', `${taskPath(ref)}/${word}`, body)
          tasks.push(answer.task)
        }
        show({ tasks }, () => tasks.map(taskLine))
      })
  }
}
