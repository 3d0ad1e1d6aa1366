import type { Command } from 'commander'
import type { TaskView } from '../../../domain/task.ts'
import type { TaskDetail } from '../../../domain/tasks/requests.ts'
import { mentionLines } from '../../tasks/page.ts'
import { taskLine } from '../../tasks/words.ts'
import { taskCall, taskPath } from './call.ts'

/** `pcc task deps add | rm | list`. */
export function addDepsCommand(task: Command): void {
  const deps = task.command('deps').description('What comes after what.')

  deps
    .command('add')
    .description('the first task must be done before the second')
    .argument('<before>', 'the task that comes first')
    .argument('<task>', 'the task that comes after it')
    .option('--json', 'print JSON')
    .action(async (before: string, ref: string, _options: object, command: Command) => {
      const { client, show } = await taskCall(command, { writes: true })
      const answer = await client.request<{ task: TaskView }>('POST', `${taskPath(ref)}/deps`, { after: before })
      show(answer, () => [`${taskLine(answer.task)}, after ${answer.task.after.join(', ')}`])
    })

  deps
    .command('rm')
    .description('the second task need not wait for the first any more')
    .argument('<before>', 'the task that came first')
    .argument('<task>', 'the task that came after it')
    .option('--json', 'print JSON')
    .action(async (before: string, ref: string, _options: object, command: Command) => {
      const { client, show } = await taskCall(command, { writes: true })
      const path = `${taskPath(ref)}/deps/${encodeURIComponent(before)}`
      const answer = await client.request<{ task: TaskView }>('DELETE', path)
      show(answer, () => [taskLine(answer.task)])
    })

  deps
    .command('list')
    .description('what a task comes after, and what comes after it')
    .argument('<task>', 'id, or a unique beginning of it')
    .option('--json', 'print JSON')
    .action(async (ref: string, _options: object, command: Command) => {
      const { client, show, terminal } = await taskCall(command, { writes: false })
      const { task, blockers, dependents } = await client.request<TaskDetail>('GET', taskPath(ref))
      show({ task: task.id, blockers, dependents }, () => [
        ...mentionLines(`${task.id} comes after`, blockers, terminal),
        ...mentionLines('and before', dependents, terminal),
      ])
    })
}
