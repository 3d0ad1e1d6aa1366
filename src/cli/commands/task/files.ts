import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { AppError, messageOf } from '../../../base/errors.ts'
import type { TaskView } from '../../../domain/task.ts'
import type { TaskMention } from '../../../domain/tasks/requests.ts'
import { TASK_FORMATS, type TaskFormat } from '../../../tasks/files/raw-tasks.ts'
import type { Client } from '../../client.ts'
import type { Context } from '../../context.ts'
import { GRAPH_FORMATS, type GraphFormat } from '../../tasks/graph/format.ts'
import { taskCall } from './call.ts'

interface Where {
  project?: string
  feature?: string
  state?: string
  under?: string
}

/** `pcc task graph | import | export`. */
export function addFileCommands(task: Command): void {
  withWhere(task.command('graph').description('A picture of what comes after what, with states.'))
    .argument('[task]', 'only this task and its parts')
    .addOption(new Option('--format <format>', 'how it is drawn').choices(GRAPH_FORMATS).default('text'))
    .option('-o, --output <file>', 'into this file, not to standard output')
    .option('--json', 'print JSON: nodes and edges')
    .action(
      async (ref: string | undefined, options: Where & { format: GraphFormat; output?: string }, command: Command) => {
        const { client, json, out, terminal, note } = await taskCall(command, { writes: false })
        const tasks = await tasksOf({ ...options, ...(ref !== undefined && { under: ref }) }, client)
        const { drawGraph, graphJson } = await import('../../tasks/graph/draw.ts')
        const text = json ? JSON.stringify(graphJson(tasks), null, 2) : drawGraph(tasks, options.format, terminal)
        put(text, options.output, { out, note })
      },
    )

  withWhere(task.command('export').description('Write tasks down so that they can be imported again.'))
    .addOption(
      new Option('--format <format>', 'yaml, jsonl or markdown (default: by the file’s name, else yaml)').choices(
        TASK_FORMATS,
      ),
    )
    .option('-o, --output <file>', 'into this file, not to standard output')
    .option('--json', 'the same as --format jsonl')
    .action(async (options: Where & { format?: TaskFormat; output?: string }, command: Command) => {
      const { client, json, out, note } = await taskCall(command, { writes: false })
      const [{ formatOf }, { writeTasks }] = await Promise.all([
        import('../../../tasks/files/read-tasks.ts'),
        import('../../../tasks/files/write-tasks.ts'),
      ])
      const format = json ? 'jsonl' : (options.format ?? formatOf(options.output ?? '') ?? 'yaml')
      put(writeTasks(await tasksOf(options, client), format).trimEnd(), options.output, { out, note })
    })

  task
    .command('import')
    .description('Take the tasks of a file: YAML, JSON lines or a Markdown check-list. All of them, or none.')
    .argument('<file>', 'the file; - reads standard input')
    .addOption(
      new Option('--format <format>', 'its form (default: by its name, else by its look)').choices(TASK_FORMATS),
    )
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--feature <name>', 'the feature of those that name none')
    .option('--copy', 'give new ids to those that are there already')
    .option('--dry-run', 'only check it')
    .option('--json', 'print JSON')
    .action(async (file: string, options: ImportOptions, command: Command) => {
      const { readFileTasks } = await import('../../tasks/read-file.ts')
      const read = await readFileTasks(file, options.format)
      const tasks = read.map(each => ({ ...(options.feature !== undefined && { feature: options.feature }), ...each }))
      const { client, show } = await taskCall(command, { writes: true })
      const body = {
        project: resolve(options.project ?? '.'),
        tasks,
        copy: options.copy === true,
        dry_run: options.dryRun === true,
      }
      const answer = await client.request<{ tasks: TaskMention[] }>('POST', '/tasks/import', body)
      const count = `${answer.tasks.length} ${answer.tasks.length === 1 ? 'task' : 'tasks'}`
      show(answer, () => [
        options.dryRun ? `${count} could be imported; nothing was.` : `Imported ${count}. See them with: pcc task list`,
      ])
    })
}

interface ImportOptions {
  format?: TaskFormat
  project?: string
  feature?: string
  copy?: true
  dryRun?: true
}

function withWhere(command: Command): Command {
  return command
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--feature <name>', 'only of this feature')
    .option('--state <states>', 'only these, comma-separated, as of pcc task list')
}

async function tasksOf({ project, feature, state, under }: Where, client: Client): Promise<TaskView[]> {
  const asked = { project: under === undefined ? resolve(project ?? '.') : undefined, feature, state, under }
  const query = Object.entries(asked).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return (await client.request<{ tasks: TaskView[] }>('GET', `/tasks?${query.join('&')}`)).tasks
}

function put(text: string, file: string | undefined, { out, note }: Pick<Context, 'out' | 'note'>): void {
  if (file === undefined) {
    out(text)
    return
  }
  try {
    writeFileSync(file, `${text}\n`)
  } catch (error) {
    throw new AppError('tasks_unreadable', { path: file, problem: messageOf(error) }, error)
  }
  note(`Written to ${file}`)
}
