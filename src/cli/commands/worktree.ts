import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import type { Worktree, WorktreeForecast, WorktreeView } from '../../domain/worktree.ts'
import { openClient } from '../connection/client.ts'
import { type CommandContext, contextOf, ExitCode } from '../context.ts'
import { ago, shownPath } from '../render/format.ts'
import { cut, firstLine, neutral, pad, type Terminal, widthOf } from '../render/text.ts'

const TASK = 'the id of its task, or a unique beginning of it'

interface Shown {
  worktrees: WorktreeView[]
  forecast: WorktreeForecast | null
}

interface Removal {
  kind: 'removed' | 'archived' | 'kept'
  why?: string
  ref?: string
}

/** `pcc worktree`: where the tasks of runs work; nothing of theirs is ever lost. */
export function addWorktreeCommand(program: Command): void {
  const worktree = program
    .command('worktree')
    .description('Worktrees of tasks: what is in them, and putting them away.')

  worktree
    .command('list', { isDefault: true })
    .description('The worktrees there are.')
    .option('--project <path>', 'only those of this project')
    .option('--all', 'also those that were archived or removed')
    .option('--json', 'print JSON')
    .action(async ({ project, all }: { project?: string; all?: true }, command: Command) => {
      const context = await contextOf(command)
      const query = [...(project === undefined ? [] : [of(project)]), ...(all ? ['all=true'] : [])].join('&')
      const found = await ask<{ worktrees: WorktreeView[] }>(context, 'GET', `/worktrees${query && `?${query}`}`)
      if (context.json) return context.out(JSON.stringify(found, null, 2))
      for (const line of worktreeLines(found.worktrees, context.terminal, here(context))) context.out(line)
    })

  worktree
    .command('show')
    .description('One task’s worktree: its branch, what was set up, and what would be lost with it.')
    .argument('<task>', TASK)
    .option('--json', 'print JSON')
    .action(async (task: string, _: object, command: Command) => {
      const context = await contextOf(command)
      const shown = await ask<Shown>(context, 'GET', path(task))
      if (context.json) return context.out(JSON.stringify(shown, null, 2))
      for (const line of worktreePage(shown, context.terminal, here(context))) context.out(line)
    })

  worktree
    .command('open')
    .description('A shell in a task’s worktree; where nobody sits at a terminal, its path.')
    .argument('<task>', TASK)
    .option('--editor', 'your editor ($VISUAL, $EDITOR) in place of a shell')
    .option('--print', 'only the path, as in: cd "$(pcc worktree open t-3fa91c --print)"')
    .option('--json', 'print JSON')
    .action(async (task: string, how: { editor?: true; print?: true }, command: Command) => {
      const context = await contextOf(command)
      const { worktrees } = await ask<Shown>(context, 'GET', path(task))
      const [newest] = worktrees
      if (newest) openWorktree(newest, context, how)
    })

  const act = (name: 'remove' | 'archive', about: string) =>
    worktree
      .command(name)
      .description(about)
      .argument('<task...>', TASK)
      .option('--json', 'print JSON')
      .action(async (tasks: string[], _: object, command: Command) => {
        const context = await contextOf(command)
        const done: ({ task: string } & Removal)[] = []
        for (const task of tasks) done.push({ task, ...(await ask<Removal>(context, 'POST', path(task, name))) })
        tell(context, done)
      })

  act('remove', 'Removes a worktree; what is in it that is not merged is archived first.')
  act('archive', 'Puts everything in a worktree under a ref of its repository, then removes it.')

  worktree
    .command('restore')
    .description('Brings an archived worktree back as it was, what was not committed included.')
    .argument('<task>', TASK)
    .option('--json', 'print JSON')
    .action(async (task: string, _: object, command: Command) => {
      const context = await contextOf(command)
      const place = await ask<Worktree>(context, 'POST', path(task, 'restore'))
      context.out(context.json ? JSON.stringify(place, null, 2) : `${place.task}: it is back in ${place.directory}`)
    })

  worktree
    .command('prune')
    .description('Removes those whose task is over and that hold nothing of their own. All others stay.')
    .option('--project <path>', 'only those of this project')
    .option('--json', 'print JSON')
    .action(async ({ project }: { project?: string }, command: Command) => {
      const context = await contextOf(command)
      const body = project === undefined ? {} : { project: resolve(project) }
      const { pruned } = await ask<{ pruned: { worktree: WorktreeView; removal: Removal }[] }>(
        context,
        ...(['POST', '/worktrees/prune', body] as const),
      )
      const done = pruned.map(({ worktree: { task }, removal }) => ({ task, ...removal }))
      if (context.json) return context.out(JSON.stringify({ pruned: done }, null, 2))
      if (done.length === 0) context.out('Nothing to prune: every worktree belongs to a task that is not over.')
      for (const each of done) context.out(removalText(each.task, each).text)
    })
}

function tell(context: CommandContext, done: readonly ({ task: string } & Removal)[]): void {
  const said = done.map(each => removalText(each.task, each))
  if (context.json) context.out(JSON.stringify({ worktrees: done }, null, 2))
  else for (const { text } of said) context.out(text)
  if (said.some(({ isKept }) => isKept)) throw new ExitCode(1)
}

async function ask<T>(context: CommandContext, method: 'GET' | 'POST', route: string, body?: object): Promise<T> {
  const client = await openClient(context.paths, context)
  return client.request<T>(method, route, body ?? (method === 'POST' ? {} : undefined))
}

function path(task: string, action?: string): string {
  return `/worktrees/${encodeURIComponent(task)}${action === undefined ? '' : `/${action}`}`
}

function of(project: string): string {
  return `project=${encodeURIComponent(resolve(project))}`
}

function here({ env }: CommandContext) {
  return { now: Date.now(), cwd: process.cwd(), home: env['HOME'] }
}

interface Where {
  now: number
  cwd: string
  home: string | undefined
}

const HEAD = ['Task', 'Attempt', 'State', 'Project', 'For', 'Since', 'Where']

/** `pcc worktree list`: one line each, in columns. */
function worktreeLines(worktrees: readonly WorktreeView[], { paint, width }: Terminal, at: Where): string[] {
  if (worktrees.length === 0) return ['No worktrees. A run makes one for each task: pcc run .']
  const rows = worktrees.map(each => [
    each.task,
    String(each.attempt),
    stateText(each),
    firstLine(basename(each.project)),
    firstLine(each.target),
    ago(at.now - each.created_at),
    each.state === 'archived' ? (each.archive ?? '') : shownPath(firstLine(each.top), at.cwd, at.home),
  ])
  const widths = HEAD.map((head, column) => Math.max(...[HEAD, ...rows].map(row => widthOf(row[column] ?? head))))
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, column) => pad(cell, widths[column] ?? 0))
    return cut(padded.join('  ').trimEnd(), width)
  }
  return [paint('bold', line(HEAD)), ...rows.map(line)]
}

/** `pcc worktree show`: the newest in full, those before it in a line each. */
function worktreePage(
  { worktrees, forecast }: { worktrees: readonly WorktreeView[]; forecast: WorktreeForecast | null },
  { paint }: Terminal,
  at: Where,
): string[] {
  const [newest, ...earlier] = worktrees
  if (!newest) return []
  const fact = (name: string, value: string | null | undefined) =>
    value ? [`${paint('dim', pad(name, 10))}${neutral(value).replaceAll('\n', `\n${' '.repeat(10)}`)}`] : []
  return [
    paint('bold', `${newest.task}  ${firstLine(newest.title ?? '')}`.trimEnd()),
    ...fact('state', `${stateText(newest)}, attempt ${newest.attempt}, made ${ago(at.now - newest.created_at)}`),
    ...fact('where', newest.directory),
    ...fact('branch', `${newest.branch}, for ${newest.target}, from ${newest.base.slice(0, 10)}`),
    ...fact('project', newest.project),
    ...fact('archive', newest.archive),
    ...fact('note', newest.reason),
    ...fact('set-up', newest.setup),
    ...fact('removal', forecast && forecastText(forecast)),
    ...(forecast?.project_is_dirty ? fact('project', 'has changes that are not committed: they are not in it') : []),
    ...earlier.map(each => paint('dim', `attempt ${each.attempt}: ${stateText(each)}${where(each)}`)),
  ]
}

/** What became of it, in a sentence. */
function removalText(
  task: string,
  removal: { kind: string; why?: string; ref?: string },
): { text: string; isKept: boolean } {
  if (removal.kind === 'removed')
    return { text: `${task}: removed, nothing was in it that is not merged.`, isKept: false }
  const why = neutral(removal.why ?? '')
  if (removal.kind === 'kept') return { text: `${task}: stays, ${why}.`, isKept: true }
  return {
    text: `${task}: archived to ${removal.ref} (${why}). Back with: pcc worktree restore ${task}`,
    isKept: false,
  }
}

function stateText({ state, exists, task_state }: WorktreeView): string {
  if (state === 'live' && !exists) return 'deleted'
  return state === 'live' && task_state !== null ? task_state : state
}

function where({ archive }: WorktreeView): string {
  return archive === null ? '' : `, in ${archive}`
}

function forecastText({ kind, why }: WorktreeForecast): string {
  if (kind === 'removed') return 'nothing would be lost'
  return kind === 'kept' ? `not possible: ${why}` : `would be archived first: ${why}`
}

/** Opens a shell in a worktree, or your editor on it; where nobody sits at a terminal its path is printed. */
function openWorktree(worktree: WorktreeView, context: CommandContext, how: { editor?: true; print?: true }): void {
  const { directory, task, state } = worktree
  if (!existsSync(directory))
    throw new AppError('worktree_not_so', { task, state: state === 'live' ? 'deleted' : state })
  const isSeen = process.stdin.isTTY && process.stdout.isTTY
  if (context.json || how.print || !isSeen) {
    context.out(context.json ? JSON.stringify({ task, directory }) : directory)
    return
  }
  const [program, args] = how.editor ? editorFor(context.env) : [context.env['SHELL'] || '/bin/sh', []]
  context.note(how.editor ? `Opening ${directory}` : `A shell in ${directory}; leave it with: exit`)
  const ended = spawnSync(program, args, { cwd: directory, stdio: 'inherit' })
  if (ended.error)
    throw new AppError('editor_failed', { editor: program, file: directory, problem: ended.error.message })
  if (how.editor && ended.status !== 0) throw new ExitCode(1)
}

/** It may be named with options ("code --wait"): the shell splits it. */
function editorFor(env: CommandContext['env']): [string, string[]] {
  return ['/bin/sh', ['-c', `${env['VISUAL'] || env['EDITOR'] || 'vi'} .`]]
}
