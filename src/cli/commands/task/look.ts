import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { StoredEvent } from '../../../domain/event.ts'
import type { TaskView } from '../../../domain/task.ts'
import { taskListText } from '../../../domain/tasks/list-text.ts'
import type { TaskDetail } from '../../../domain/tasks/requests.ts'
import type { TaskWork } from '../../../domain/workspace/landing/work-view.ts'
import { workLines } from '../../review/evidence-lines.ts'
import { logLines, taskPage } from '../../tasks/page.ts'
import { type ListOptions, showTasks } from '../../tasks/show-list.ts'
import { treeLines } from '../../tasks/tree.ts'
import { taskCall, taskPath } from './call.ts'

interface TaskLog {
  task: string
  events: StoredEvent[]
}

const TASK = 'id, or a unique beginning of it'

/** `pcc task list | show | tree | log`. */
export function addLookCommands(task: Command): void {
  task
    .command('list')
    .description('The tasks of a project, in the order in which they were added.')
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--all', 'of all projects')
    .option('--feature <name>', 'only of this feature')
    .option('--state <states>', 'only these, comma-separated: open, blocked, ready, running, waiting, done, failed, …')
    .option('--ready', 'only what could be begun now')
    .option('--label <word>', 'only with this label')
    .option('--text <words>', 'only where this stands in the title or the description')
    .option('--json', 'print JSON, a line for each task')
    .action(async (options: ListOptions, command: Command) => {
      const { client, ...context } = await taskCall(command, { writes: false })
      const body = async (path: string) =>
        taskListText((await client.request<{ tasks: object[] }>('GET', path)).tasks.map(task => JSON.stringify(task)))
      const pass = async (path: string) => context.out(await body(path))
      await showTasks({ ...options, json: context.json }, { ...context, body, pass })
    })

  task
    .command('show')
    .description('Everything about one task.')
    .argument('<task>', TASK)
    .option('--json', 'print JSON')
    .action(async (ref: string, _options: object, command: Command) => {
      const { client, show, terminal } = await taskCall(command, { writes: false })
      const detail = await client.request<TaskDetail>('GET', taskPath(ref))
      const work = await client.request<TaskWork>('GET', `${taskPath(detail.task.id)}/work`)
      show({ ...detail, work }, () => [...taskPage(detail, terminal), ...workLines(work, terminal)])
    })

  task
    .command('tree')
    .description('A task and its parts, or all of a project, indented.')
    .argument('[task]', TASK)
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--json', 'print JSON')
    .action(async (ref: string | undefined, { project = '.' }: { project?: string }, command: Command) => {
      const { client, show, terminal } = await taskCall(command, { writes: false })
      const query =
        ref === undefined ? `project=${encodeURIComponent(resolve(project))}` : `under=${encodeURIComponent(ref)}`
      const answer = await client.request<{ tasks: TaskView[] }>('GET', `/tasks?${query}`)
      show(answer, () => treeLines(answer.tasks, terminal))
    })

  task
    .command('log')
    .description('What happened to a task; with -m, a line more.')
    .argument('<task>', TASK)
    .option('-m, --message <text>', 'a line to be added')
    .option('--json', 'print JSON')
    .action(async (ref: string, { message }: { message?: string }, command: Command) => {
      const { client, show, terminal } = await taskCall(command, { writes: message !== undefined })
      const path = `${taskPath(ref)}/log`
      const answer = await (message === undefined
        ? client.request<TaskLog>('GET', path)
        : client.request<TaskLog>('POST', path, { text: message }))
      show(answer, () => logLines(answer.events, terminal))
    })
}
