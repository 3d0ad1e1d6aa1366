import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import type { Worktree, WorktreeForecast, WorktreeView } from '../../domain/worktree.ts'
import { openClient } from '../connection/client.ts'
import { type CommandContext, commandContext, ExitCode } from '../context.ts'
import { ago, nameProjects, shownPath } from '../render/format.ts'
import { cut, firstLine, pad, type Terminal, widthOf } from '../render/text.ts'
import { editorFor, runInTerminal } from '../run-in-terminal.ts'

const TASK = 'the id of its task, or a unique beginning of it'

interface TaskWorktrees {
  worktrees: WorktreeView[]
  forecast: WorktreeForecast | null
}

interface Removal {
  kind: 'removed' | 'archived' | 'kept'
  why?: string
  ref?: string
}

type TaskRemoval = { task: string } & Removal

interface OpenOptions {
  editor?: true
  print?: true
}

/** `pcc worktree`: the worktrees in which tasks of runs work. Their content is never lost. */
export function addWorktreeCommand(program: Command): void {
  const worktree = program.command('worktree').description('See what is in the worktrees of tasks, and put them away')

  worktree
    .command('list', { isDefault: true })
    .description('List the worktrees')
    .option('--project <path>', 'only those of this project')
    .option('--all', 'also those that were archived or removed')
    .option('--json', 'print JSON')
    .action(async ({ project, all }: { project?: string; all?: true }, command: Command) => {
      const context = await commandContext(command)
      const query = [...(project === undefined ? [] : [projectQuery(project)]), ...(all ? ['all=true'] : [])].join('&')
      const reply = await request<{ worktrees: WorktreeView[] }>(context, 'GET', `/worktrees${query && `?${query}`}`)
      if (context.json) return context.out(JSON.stringify(reply, null, 2))
      for (const line of worktreeLines(reply.worktrees, context.terminal, displayContext(context))) context.out(line)
    })

  worktree
    .command('show')
    .description('Show one task’s worktree: its branch, what was set up, and what would be lost with it')
    .argument('<task>', TASK)
    .option('--json', 'print JSON')
    .action(async (task: string, _: object, command: Command) => {
      const context = await commandContext(command)
      const reply = await request<TaskWorktrees>(context, 'GET', worktreePath(task))
      if (context.json) return context.out(JSON.stringify(reply, null, 2))
      for (const line of worktreePage(reply, context.terminal, displayContext(context))) context.out(line)
    })

  worktree
    .command('open')
    .description('Open a shell in a task’s worktree; without a terminal, print its path')
    .argument('<task>', TASK)
    .option('--editor', 'your editor ($VISUAL, $EDITOR) in place of a shell')
    .option('--print', 'only the path, as in: cd "$(pcc worktree open t-3fa91c --print)"')
    .option('--json', 'print JSON')
    .action(async (task: string, options: OpenOptions, command: Command) => {
      const context = await commandContext(command)
      const { worktrees } = await request<TaskWorktrees>(context, 'GET', worktreePath(task))
      const [newest] = worktrees
      if (newest) await openWorktree(newest, context, options)
    })

  const addRemovalCommand = (name: 'remove' | 'archive', description: string) =>
    worktree
      .command(name)
      .description(description)
      .argument('<task...>', TASK)
      .option('--json', 'print JSON')
      .action(async (tasks: string[], _: object, command: Command) => {
        const context = await commandContext(command)
        const removals: TaskRemoval[] = []
        for (const task of tasks)
          removals.push({ task, ...(await request<Removal>(context, 'POST', worktreePath(task, name))) })
        printRemovals(context, removals)
      })

  addRemovalCommand('remove', 'Remove a worktree; archive first what is in it that is not merged')
  addRemovalCommand('archive', 'Put everything in a worktree under a ref of its repository, then remove it')

  worktree
    .command('restore')
    .description('Bring an archived worktree back as it was, with its uncommitted changes')
    .argument('<task>', TASK)
    .option('--json', 'print JSON')
    .action(async (task: string, _: object, command: Command) => {
      const context = await commandContext(command)
      const restored = await request<Worktree>(context, 'POST', worktreePath(task, 'restore'))
      const sentence = `${restored.task}: it is back in ${restored.directory}`
      context.out(context.json ? JSON.stringify(restored, null, 2) : sentence)
    })

  worktree
    .command('prune')
    .description('Remove those whose task is over and that hold nothing of their own; all others stay')
    .option('--project <path>', 'only those of this project')
    .option('--json', 'print JSON')
    .action(async ({ project }: { project?: string }, command: Command) => {
      const context = await commandContext(command)
      const body = project === undefined ? {} : { project: resolve(project) }
      const { pruned } = await request<{ pruned: { worktree: WorktreeView; removal: Removal }[] }>(
        context,
        ...(['POST', '/worktrees/prune', body] as const),
      )
      const removals = pruned.map(({ worktree: { task }, removal }) => ({ task, ...removal }))
      if (context.json) return context.out(JSON.stringify({ pruned: removals }, null, 2))
      if (removals.length === 0) context.out('Nothing to prune: every worktree belongs to a task that is not over.')
      for (const removal of removals) context.out(removalText(removal))
    })
}

function printRemovals(context: CommandContext, removals: readonly TaskRemoval[]): void {
  if (context.json) context.out(JSON.stringify({ worktrees: removals }, null, 2))
  else for (const removal of removals) context.out(removalText(removal))
  if (removals.some(({ kind }) => kind === 'kept')) throw new ExitCode(1)
}

async function request<T>(context: CommandContext, method: 'GET' | 'POST', route: string, body?: object): Promise<T> {
  const client = await openClient(context.paths, context)
  return client.request<T>(method, route, body ?? (method === 'POST' ? {} : undefined))
}

function worktreePath(task: string, action?: string): string {
  return `/worktrees/${encodeURIComponent(task)}${action === undefined ? '' : `/${action}`}`
}

function projectQuery(project: string): string {
  return `project=${encodeURIComponent(resolve(project))}`
}

function displayContext({ env }: CommandContext): DisplayContext {
  return { now: Date.now(), cwd: process.cwd(), home: env['HOME'] }
}

interface DisplayContext {
  now: number
  cwd: string
  home: string | undefined
}

const HEAD = ['Task', 'Attempt', 'State', 'Project', 'For', 'Since', 'Where']

/** `pcc worktree list`: one line for each worktree, in columns. */
function worktreeLines(
  worktrees: readonly WorktreeView[],
  { paint, width }: Terminal,
  { now, cwd, home }: DisplayContext,
): string[] {
  if (worktrees.length === 0) return ['No worktrees. A run makes one for each task: pcc run .']
  const projectName = nameProjects(worktrees.map(({ project }) => project))
  const rows = worktrees.map(worktree => [
    worktree.task,
    String(worktree.attempt),
    stateText(worktree),
    firstLine(projectName(worktree.project)),
    firstLine(worktree.target),
    ago(now - worktree.created_at),
    worktree.state === 'archived' ? (worktree.archive ?? '') : shownPath(firstLine(worktree.top), cwd, home),
  ])
  const widths = HEAD.map((head, column) => Math.max(...[HEAD, ...rows].map(row => widthOf(row[column] ?? head))))
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, column) => pad(cell, widths[column] ?? 0))
    return cut(padded.join('  ').trimEnd(), width)
  }
  return [paint('bold', line(HEAD)), ...rows.map(line)]
}

/** `pcc worktree show`: the newest worktree in full, earlier ones in one line each. */
function worktreePage({ worktrees, forecast }: TaskWorktrees, { paint }: Terminal, { now }: DisplayContext): string[] {
  const [newest, ...earlier] = worktrees
  if (!newest) return []
  const fact = (name: string, value: string | null | undefined) =>
    value ? [`${paint('dim', pad(name, 10))}${neutral(value).replaceAll('\n', `\n${' '.repeat(10)}`)}`] : []
  return [
    paint('bold', `${newest.task}  ${firstLine(newest.title ?? '')}`.trimEnd()),
    ...fact('state', `${stateText(newest)}, attempt ${newest.attempt}, made ${ago(now - newest.created_at)}`),
    ...fact('where', newest.exists ? newest.directory : null),
    ...fact('branch', `${newest.branch}, for ${newest.target}, from ${newest.base.slice(0, 10)}`),
    ...fact('project', newest.project),
    ...fact('archive', newest.archive),
    ...fact('note', newest.reason),
    ...fact('set-up', newest.setup),
    ...fact('removal', forecast && forecastText(forecast)),
    ...(forecast?.project_is_dirty ? fact('project', 'has uncommitted changes, which are not in this worktree') : []),
    ...earlier.map(worktree =>
      paint('dim', `attempt ${worktree.attempt}: ${stateText(worktree)}${archiveText(worktree)}`),
    ),
  ]
}

/** The outcome of a removal in one sentence. */
function removalText({ task, kind, why, ref }: TaskRemoval): string {
  if (kind === 'removed') return `${task}: removed, nothing was in it that is not merged.`
  const reason = neutral(why ?? '')
  if (kind === 'kept') return `${task}: stays, ${reason}.`
  return `${task}: archived to ${ref} (${reason}). Back with: pcc worktree restore ${task}`
}

function stateText({ state, exists, task_state }: WorktreeView): string {
  if (state === 'live' && !exists) return 'deleted'
  return state === 'live' && task_state !== null ? task_state : state
}

function archiveText({ archive }: WorktreeView): string {
  return archive === null ? '' : `, in ${archive}`
}

function forecastText({ kind, why }: WorktreeForecast): string {
  if (kind === 'removed') return 'nothing would be lost'
  return kind === 'kept' ? `not possible: ${why}` : `would be archived first: ${why}`
}

/** Opens a shell or the person's editor in a worktree; without a terminal, prints its path. */
async function openWorktree(worktree: WorktreeView, context: CommandContext, options: OpenOptions): Promise<void> {
  const { directory, task, state } = worktree
  // Another task may work in the directory of a slot by now.
  if (state !== 'live' || !existsSync(directory))
    throw new AppError('worktree_not_so', { task, state: state === 'live' ? 'deleted' : state })
  const hasTerminal = process.stdin.isTTY && process.stdout.isTTY
  if (context.json || options.print || !hasTerminal) {
    context.out(context.json ? JSON.stringify({ task, directory }) : directory)
    return
  }
  const { env } = context
  const program = options.editor ? editorFor('.', env) : { command: env['SHELL'] || '/bin/sh', args: [], env }
  context.note(options.editor ? `Opening ${directory}` : `A shell in ${directory}; leave it with: exit`)
  const { code, error } = await runInTerminal({ ...program, cwd: directory })
  if (error) throw new AppError('editor_failed', { editor: program.command, file: directory, problem: error.message })
  if (options.editor && code !== 0) throw new ExitCode(1)
}
