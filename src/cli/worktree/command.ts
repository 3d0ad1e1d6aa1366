import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Place } from '../../domain/workspace/place.ts'
import type { WorktreeForecast, WorktreeView } from '../../domain/workspace/worktree-view.ts'
import { openClient } from '../client.ts'
import { type Context, contextOf, ExitCode } from '../context.ts'
import { removalText, worktreeLines, worktreePage } from './lines.ts'
import { openWorktree } from './open.ts'

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
      const place = await ask<Place>(context, 'POST', path(task, 'restore'))
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

function tell(context: Context, done: readonly ({ task: string } & Removal)[]): void {
  const said = done.map(each => removalText(each.task, each))
  if (context.json) context.out(JSON.stringify({ worktrees: done }, null, 2))
  else for (const { text } of said) context.out(text)
  if (said.some(({ isKept }) => isKept)) throw new ExitCode(1)
}

async function ask<T>(context: Context, method: 'GET' | 'POST', route: string, body?: object): Promise<T> {
  const client = await openClient(context.places, context)
  return client.request<T>(method, route, body ?? (method === 'POST' ? {} : undefined))
}

function path(task: string, action?: string): string {
  return `/worktrees/${encodeURIComponent(task)}${action === undefined ? '' : `/${action}`}`
}

function of(project: string): string {
  return `project=${encodeURIComponent(resolve(project))}`
}

function here({ env }: Context) {
  return { now: Date.now(), cwd: process.cwd(), home: env['HOME'] }
}
