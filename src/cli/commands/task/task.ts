import { writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { AppError, messageOf } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import { quoteForShell } from '../../../base/words.ts'
import type { TaskView } from '../../../domain/task.ts'
import type { ImportedTask, ImportReply, TaskDetail } from '../../../domain/task-requests.ts'
import type { BrokenNote } from '../../../knowledge/note.ts'
import { TASK_FORMATS, type TaskFormat } from '../../../tasks/files/task-text.ts'
import type { Client } from '../../connection/client.ts'
import { type CommandContext, isInteractive } from '../../context.ts'
import { counted } from '../../render/format.ts'
import { brokenLines } from '../notes-lines.ts'
import { projectDirectory } from '../start-session.ts'
import { type CommandCall, openCommandCall, taskPath, taskRef } from './call.ts'
import { GRAPH_FORMATS, type GraphFormat, taskLine } from './lines.ts'
import { addShowCommands, mentionLines } from './show.ts'
import { addCreateCommand, addWriteCommands } from './write.ts'

/** `pcc task …`: a project's tasks and their graph. */
export function addTaskCommand(program: Command): void {
  const task = program
    .command('task')
    .description('Write tasks down, put them in order, follow them, review their work')
  addWriteCommands(task)
  addCreateCommand(task)
  addShowCommands(task)
  addStateCommands(task)
  addDepsCommand(task)
  addFileCommands(task)
  addBriefCommand(task)
}

/** The answer of GET /tasks/:ref/brief. */
interface TaskBrief {
  task: string
  text: string
  tokens: number
  dropped: { section: string; tokens: number; whole: boolean }[]
  skipped: BrokenNote[]
}

/** `pcc task brief`. */
function addBriefCommand(task: Command): void {
  task
    .command('brief')
    .description('Show exactly what an agent would be sent for a task now')
    .argument('<task>', 'id, or a unique beginning of it')
    .option('--json', 'print JSON')
    .action(async (ref: string, _options: object, command: Command) => {
      const { client, show, note, terminal } = await openCommandCall(command, { writes: false })
      const brief = await client.request<TaskBrief>('GET', `${taskPath(ref)}/brief`)
      show(brief, () => [brief.text])
      for (const { section, tokens, whole } of brief.dropped) {
        note(`${whole ? 'Left out' : 'Cut'}: ${section}, about ${tokens} tokens.`)
      }
      for (const line of brokenLines(brief.skipped, terminal)) note(line)
    })
}

/** `pcc task deps add | rm | list`. */
function addDepsCommand(task: Command): void {
  const deps = task.command('deps').description('Add and remove dependencies between tasks')

  deps
    .command('add')
    .description('Make the second task wait until the first is done')
    .argument('<before>', 'the task that comes first')
    .argument('<task>', 'the task that comes after it')
    .option('--json', 'print JSON')
    .action(async (before: string, ref: string, _options: object, command: Command) => {
      const { client, show } = await openCommandCall(command, { writes: true })
      const answer = await client.request<{ task: TaskView }>('POST', `${taskPath(ref)}/deps`, { after: before })
      show(answer, () => [`${taskLine(answer.task)}, after ${answer.task.after.join(', ')}`])
    })

  deps
    .command('rm')
    .description('Remove a dependency: the second task no longer waits for the first')
    .argument('<before>', 'the task that came first')
    .argument('<task>', 'the task that came after it')
    .option('--json', 'print JSON')
    .action(async (before: string, ref: string, _options: object, command: Command) => {
      const { client, show } = await openCommandCall(command, { writes: true })
      const path = `${taskPath(ref)}/deps/${encodeURIComponent(before)}`
      const answer = await client.request<{ task: TaskView }>('DELETE', path)
      show(answer, () => [taskLine(answer.task)])
    })

  deps
    .command('list')
    .description('List what a task comes after, and what comes after it')
    .argument('<task>', 'id, or a unique beginning of it')
    .option('--json', 'print JSON')
    .action(async (ref: string, _options: object, command: Command) => {
      const { client, show, terminal } = await openCommandCall(command, { writes: false })
      const { task, blockers, dependents } = await client.request<TaskDetail>('GET', taskPath(ref))
      show({ task: task.id, blockers, dependents }, () => [
        ...mentionLines(`${task.id} comes after`, blockers, terminal),
        ...mentionLines('and before', dependents, terminal),
      ])
    })
}

const STATE_COMMANDS = [
  ['done', 'Say that a task is done, whatever it is now; what comes after it becomes ready'],
  ['fail', 'Say that a task failed'],
  ['reset', 'Let a task be done again; with parts, all of them'],
  ['cancel', 'Say that a task is not to be done; with parts, none of them'],
] as const

/** `pcc task done | fail | reset | cancel`. */
function addStateCommands(task: Command): void {
  for (const [name, description] of STATE_COMMANDS) {
    task
      .command(name)
      .description(description)
      .argument('<task...>', 'ids, or unique beginnings of them')
      .option('-r, --reason <text>', 'why')
      .option('--json', 'print JSON')
      .action(async (refs: string[], { reason }: { reason?: string }, command: Command) => {
        const { client, show } = await openCommandCall(command, { writes: true })
        const tasks: TaskView[] = []
        const body = reason === undefined ? {} : { reason }
        for (const ref of refs) {
          const answer = await client.request<{ task: TaskView }>('POST', `${taskPath(ref)}/${name}`, body)
          tasks.push(answer.task)
        }
        const stranded = name === 'cancel' ? await strandedLines(tasks, client) : []
        const begin = name === 'reset' ? await howToBegin(tasks, client) : []
        show({ tasks }, () => [...tasks.flatMap(task => stateLines(task, reason)), ...stranded, ...begin])
      })
  }
}

/** The new state of a task; of one that is done also what the daemon adds to the person's reason: where its work is. */
function stateLines(task: TaskView, given: string | undefined): string[] {
  const isNews = task.state === 'done' && task.reason !== null && task.reason !== given
  return [taskLine(task), ...(isNews ? [`  ${neutral(task.reason ?? '')}`] : [])]
}

/** How tasks that were reset begin where no run is under way that takes them. */
async function howToBegin(tasks: readonly TaskView[], client: Client): Promise<string[]> {
  const lines: string[] = []
  for (const project of new Set(tasks.map(task => task.project))) {
    const path = `/runs?open=true&limit=1&project=${encodeURIComponent(project)}`
    const { total } = await client.request<{ total: number }>('GET', path)
    const folder = project === process.cwd() ? '.' : quoteForShell(project)
    if (total === 0) lines.push(`No run is under way there. Begin with: pcc run ${folder}`)
  }
  return lines
}

/** What can never begin because a task was cancelled, and what to type. */
async function strandedLines(tasks: readonly TaskView[], client: Client): Promise<string[]> {
  const lines: string[] = []
  for (const { id } of tasks) {
    const { dependents } = await client.request<TaskDetail>('GET', taskPath(id))
    const stranded = dependents.filter(({ state }) => state === 'blocked')
    if (stranded.length === 0) continue
    const [it, comes] = stranded.length === 1 ? ['it', 'comes'] : ['them', 'come']
    lines.push(
      `${stranded.map(task => `${task.id} (${neutral(task.title)})`).join(', ')} ${comes} after ${id} and cannot begin now.`,
      `Let ${it} begin without it:`,
      ...stranded.map(task => `  pcc task deps rm ${id} ${task.id}`),
      `Or cancel ${it} too:`,
      `  pcc task cancel ${stranded.map(task => task.id).join(' ')}`,
    )
  }
  return lines
}

interface TaskFilter {
  project?: string
  feature?: string
  state?: string
  under?: string
}

/** `pcc task graph | import | export`. */
function addFileCommands(task: Command): void {
  addFilterOptions(task.command('graph').description('Draw the dependencies between tasks, with states'))
    .argument('[task]', 'only this task and its parts')
    .addOption(new Option('--format <format>', 'how it is drawn').choices(GRAPH_FORMATS).default('text'))
    .option('-o, --output <file>', 'into this file, not to standard output')
    .option('--json', 'print JSON: nodes and edges')
    .action(
      async (
        ref: string | undefined,
        options: TaskFilter & { format: GraphFormat; output?: string },
        command: Command,
      ) => {
        const { client, json, out, terminal, note } = await openCommandCall(command, { writes: false })
        const tasks = await fetchTasks({ ...options, ...(ref !== undefined && { under: ref }) }, client)
        const { drawGraph, graphJson } = await import('./graph.ts')
        const text = json ? JSON.stringify(graphJson(tasks), null, 2) : drawGraph(tasks, options.format, terminal)
        writeOutput(text, options.output, { out, note })
      },
    )

  addFilterOptions(task.command('export').description('Write tasks into a file that can be imported again'))
    .addOption(
      new Option('--format <format>', 'yaml, jsonl or markdown (default: by the file’s name, else yaml)').choices(
        TASK_FORMATS,
      ),
    )
    .option('-o, --output <file>', 'into this file, not to standard output')
    .option('--json', 'the same as --format jsonl')
    .action(async (options: TaskFilter & { format?: TaskFormat; output?: string }, command: Command) => {
      const { client, json, out, note } = await openCommandCall(command, { writes: false })
      const [{ formatOf }, { writeTasks }] = await Promise.all([
        import('../../../tasks/files/read-tasks.ts'),
        import('../../../tasks/files/write-tasks.ts'),
      ])
      const format = json ? 'jsonl' : (options.format ?? formatOf(options.output ?? '') ?? 'yaml')
      writeOutput(writeTasks(await fetchTasks(options, client), format).trimEnd(), options.output, { out, note })
    })

  task
    .command('import')
    .description('Import tasks from a file: YAML, JSON lines or a Markdown list; all of them, or none')
    .argument('<file>', 'the file; - reads standard input')
    .addOption(
      new Option('--format <format>', 'its format (default: by its name, else by its content)').choices(TASK_FORMATS),
    )
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--feature <name>', 'the feature of tasks that name none')
    .option('--copy', 'add all of them as new tasks, also those that are there already')
    .option('--dry-run', 'only check it')
    .option('-y, --yes', 'update tasks that are found by their title without asking')
    .option('--json', 'print JSON')
    .action(async (file: string, options: ImportOptions, command: Command) => {
      const { readFileTasks } = await import('./create-tasks.ts')
      const imported = await readFileTasks(file, options.format)
      const defaults = options.feature === undefined ? {} : { feature: options.feature }
      const tasks = imported.map(task => ({ ...defaults, ...task }))
      await importFile({ file, tasks }, options, await openCommandCall(command, { writes: true }))
    })
}

/**
 * Imports tasks, and shows the order in which they come. A person at a terminal is asked before a task is changed of which only the
 * title says that it is the same; without one it is taken to be the same, because nothing may be there twice.
 */
async function importFile(
  { file, tasks }: { file: string; tasks: readonly ImportedTask[] },
  options: ImportOptions,
  { client, show, terminal, ...context }: CommandCall,
): Promise<void> {
  const project = projectDirectory(options.project ?? '.')
  const named = file === '-' ? {} : { file }
  const body = { project, tasks, copy: options.copy === true, update: true, ...named }
  const send = (dryRun: boolean) => client.request<ImportReply>('POST', '/tasks/import', { ...body, dry_run: dryRun })
  if (options.dryRun) {
    const answer = await send(true)
    return show(answer, () => [importLine(answer, { isDone: false }), 'Nothing was stored.'])
  }
  if (isInteractive(context) && !options.copy && !options.yes) await askAboutTitles(await send(true), context)
  const answer = await send(false)
  if (context.json) return show(answer, () => [])
  context.out(importLine(answer, { isDone: true }))
  const open = await fetchTasks({ project, state: 'open' }, client)
  const { drawGraph } = await import('./graph.ts')
  if (open.length <= MAX_DRAWN) context.out(drawGraph(open, 'text', terminal))
  else context.out(`${open.length} tasks are open. See their order with: pcc task graph`)
}

/** A larger graph does not fit a screen. */
const MAX_DRAWN = 30

async function askAboutTitles({ by_title }: ImportReply, { note }: Pick<CommandContext, 'note'>): Promise<void> {
  if (by_title.length === 0) return
  const [{ agrees }, { firstLine }] = await Promise.all([import('../../input.ts'), import('../../render/text.ts')])
  const named = by_title.slice(0, 3).map(({ id, title }) => `${id} ${firstLine(title)}`)
  const more = by_title.length > 3 ? ` and ${by_title.length - 3} more` : ''
  const question = `Only the title says that these are there already: ${named.join(', ')}${more}. Change them to what the file says?`
  if (await agrees(question)) return
  note('To tell them apart, give the tasks of the file ids; to add all of them as new tasks, use --copy.')
  throw new AppError('not_confirmed', { action: 'The import' })
}

function importLine({ tasks, updated, same, over }: ImportReply, { isDone }: { isDone: boolean }): string {
  const parts = [
    `${counted(tasks.length, isDone ? 'task' : 'new task')}`,
    ...(updated.length > 0 ? [`${updated.length} ${isDone ? 'updated' : 'would be updated'}`] : []),
    ...(same > 0 ? [`${same} there already`] : []),
    ...(over.length > 0 ? [`${over.length} over already and left as ${over.length === 1 ? 'it is' : 'they are'}`] : []),
  ]
  return `${isDone ? 'Imported' : 'The file has'} ${parts.join(', ')}.`
}

interface ImportOptions {
  format?: TaskFormat
  project?: string
  feature?: string
  copy?: true
  dryRun?: true
  yes?: true
}

function addFilterOptions(command: Command): Command {
  return command
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--feature <name>', 'only of this feature')
    .option('--state <states>', 'only these, comma-separated, as for pcc task list')
}

async function fetchTasks({ project, feature, state, under }: TaskFilter, client: Client): Promise<TaskView[]> {
  const within = under === undefined ? { project: resolve(project ?? '.') } : { under: taskRef(under) }
  const parameters = { ...within, feature, state }
  const query = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return (await client.request<{ tasks: TaskView[] }>('GET', `/tasks?${query.join('&')}`)).tasks
}

function writeOutput(
  text: string,
  file: string | undefined,
  { out, note }: Pick<CommandContext, 'out' | 'note'>,
): void {
  if (file === undefined) {
    out(text)
    return
  }
  try {
    writeFileSync(file, `${text}\n`)
  } catch (error) {
    const problems: Record<string, string> = {
      ENOENT: `the directory ${dirname(resolve(file))} does not exist.`,
      EISDIR: 'it is a folder; name a file in it.',
      EACCES: 'permission denied.',
    }
    const problem = problems[(error as NodeJS.ErrnoException).code ?? ''] ?? messageOf(error)
    throw new AppError('tasks_unreadable', { path: file, problem }, error)
  }
  note(`Written to ${file}`)
}
