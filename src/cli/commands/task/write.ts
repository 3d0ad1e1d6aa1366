import type { Command } from 'commander'
import { AppError } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import type { TaskView } from '../../../domain/task.ts'
import type { TaskMention } from '../../../domain/task-requests.ts'
import { confirm, openPrompter, readRequestText } from '../../input.ts'
import { addTaskFields, collect, readTaskFields, type TaskFieldOptions } from '../../options.ts'
import { projectDirectory } from '../start-session.ts'
import { openCommandCall, taskPath } from './call.ts'
import type { CreateOptions } from './create-tasks.ts'
import { taskLine } from './lines.ts'

interface AddOptions extends TaskFieldOptions {
  project?: string
  parent?: string
  after?: string[]
  feature?: string
  model?: string
}

interface UpdateOptions extends TaskFieldOptions {
  title?: string
  parent?: string | false
  feature?: string | false
  model?: string | false
  addLabel?: string[]
  rmLabel?: string[]
}

/** `pcc task add | update | delete`. */
export function addWriteCommands(task: Command): void {
  addTaskFields(
    task.command('add').description('Add a task to a project').argument('<title>', 'what to do, in one line'),
    { isNew: true },
  )
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--parent <task>', 'it is a part of this task')
    .option('--after <task>', 'it comes after this task; may be repeated', collect)
    .option('--feature <name>', 'the feature that it belongs to')
    .option('--model <name>', 'the model that suits it')
    .option('--json', 'print JSON')
    .action(async (title: string, options: AddOptions, command: Command) => {
      if (title.trim() === '')
        throw new AppError('usage', { problem: 'The title is empty: say in one line what to do', command: 'task add' })
      const { client, show } = await openCommandCall(command, { writes: true })
      const { project = '.', parent, after, feature, model } = options
      const body = {
        title,
        project: projectDirectory(project),
        ...(await readTaskFields(options, 'task add')),
        ...(parent !== undefined && { parent }),
        ...(after && { after }),
        ...(feature !== undefined && { feature }),
        ...(model !== undefined && { model }),
      }
      const answer = await client.request<{ task: TaskView }>('POST', '/tasks', body)
      show(answer, () => [`Added ${taskLine(answer.task)}`])
    })

  addTaskFields(task.command('update').description('Change the fields of a task').argument('<task>', TASK), {
    isNew: false,
  })
    .option('--title <text>', 'what to do, in one line')
    .option('--parent <task>', 'make it a part of this task')
    .option('--no-parent', 'make it a part of no task')
    .option('--feature <name>', 'the feature that it belongs to')
    .option('--no-feature', 'it belongs to no feature')
    .option('--model <name>', 'the model that suits it')
    .option('--no-model', 'any model suits it')
    .option('--add-label <word>', 'add a label; may be repeated', collect)
    .option('--rm-label <word>', 'remove a label; may be repeated', collect)
    .option('--json', 'print JSON')
    .action(async (ref: string, options: UpdateOptions, command: Command) => {
      const { client, show } = await openCommandCall(command, { writes: true })
      const body = { ...(await readTaskFields(options, 'task update')), ...readChanges(options) }
      const labels = await computeLabels(ref, options, client)
      if (Object.keys({ ...body, ...labels }).length === 0)
        throw new AppError('usage', { problem: 'name something to change', command: 'task update' })
      const answer = await client.request<{ task: TaskView }>('POST', taskPath(ref), { ...body, ...labels })
      show(answer, () => [`Changed ${taskLine(answer.task)}`])
    })

  task
    .command('delete')
    .description('Remove a task for good (to keep it in the lists, cancel it)')
    .argument('<task>', TASK)
    .option('--cascade', 'also everything that comes after it or is a part of it')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'print JSON')
    .action(async (ref: string, options: { cascade?: true; yes?: true }, command: Command) => {
      const { client, show } = await openCommandCall(command, { writes: true })
      const { task } = await client.request<{ task: TaskView }>('GET', taskPath(ref))
      const what = `${task.id} (${neutral(task.title)})${options.cascade ? ', everything that comes after it, and its parts' : ''}`
      await confirm({ action: `Deleting ${what}`, question: `Delete ${what}?`, yes: options.yes === true })
      const query = options.cascade ? '?cascade=true' : ''
      const answer = await client.request<{ deleted: TaskMention[] }>('DELETE', `${taskPath(ref)}${query}`)
      show(answer, () => answer.deleted.map(({ id, title }) => `Deleted ${id} ${neutral(title)}`))
    })
}

const TASK = 'id, or a unique beginning of it'

/** An option such as `--no-parent` gives `false`, which clears the field. */
function readChanges({ title, parent, feature, model }: UpdateOptions): object {
  const given = Object.entries({ parent, feature, model }).filter(([, value]) => value !== undefined)
  return {
    ...(title !== undefined && { title }),
    ...Object.fromEntries(given.map(([name, value]) => [name, value === false ? null : value])),
  }
}

async function computeLabels(
  ref: string,
  { addLabel = [], rmLabel = [], label }: UpdateOptions,
  client: { request<T>(method: 'GET', path: string): Promise<T> },
): Promise<{ labels?: string[] }> {
  if (addLabel.length + rmLabel.length === 0) return {}
  const current = label ?? (await client.request<{ task: TaskView }>('GET', taskPath(ref))).task.labels
  return { labels: [...new Set([...current, ...addLabel])].filter(word => !rmLabel.includes(word)) }
}

/** `pcc task create`. */
export function addCreateCommand(task: Command): void {
  task
    .command('create')
    .description('Say what you want: an agent that can only read proposes tasks, and you accept or decline')
    .argument('[text]', 'what you want, in a sentence or more; - reads standard input')
    .option('-f, --file <path>', 'read it from this file; - reads standard input')
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--feature <name>', 'the feature that they belong to')
    .option('--parent <task>', 'they are parts of this task')
    .option('--after <task>', 'they come after this task; may be repeated', collect)
    .option('--agent <command>', 'who makes them: claude, another agent, or a command line (agent.command)')
    .option('--model <name>', "the agent's model")
    .option('--dry-run', 'only show them')
    .option('-y, --yes', 'store them without asking')
    .option('--json', 'print JSON')
    .action(async (text: string | undefined, options: CreateOptions & { file?: string }, command: Command) => {
      const { createTasks } = await import('./create-tasks.ts')
      const { client, ...context } = await openCommandCall(command, { writes: true })
      const request = await readRequestText({ text, file: options.file, command: 'task create', ask: askForText })
      await createTasks(request, options, { client, context })
    })
}

async function askForText(): Promise<string> {
  const prompter = await openPrompter('Creating tasks')
  return prompter.text('What do you want done?', 'Let people reset their password by mail')
}
