import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { MergeState, MergeView } from '../../domain/merge.ts'
import { openClient } from '../connection/client.ts'
import { type CommandContext, contextOf } from '../context.ts'
import { ago } from '../render/format.ts'
import { cut, firstLine, pad, type Terminal, widthOf } from '../render/text.ts'

const REF = 'the number of a merge, or the id of a task or a unique beginning of it'

/** `pcc merge`: verified work on its way into its target. */
export function addMergeCommand(program: Command): void {
  const merge = program.command('merge').description('Verified work on its way into the branch that it is for.')

  merge
    .command('list', { isDefault: true })
    .description('What is queued, what waits for what, and what is with its conversation.')
    .option('--project <path>', 'only those of this project')
    .option('--all', 'also those that are over')
    .option('--json', 'print JSON')
    .action(async ({ project, all }: { project?: string; all?: true }, command: Command) => {
      const context = await contextOf(command)
      const of = project === undefined ? [] : [`project=${encodeURIComponent(resolve(project))}`]
      const query = [...of, ...(all ? ['all=true'] : [])].join('&')
      const found = await ask<{ merges: MergeView[] }>(context, 'GET', `/merges${query && `?${query}`}`)
      if (context.json) return context.out(JSON.stringify(found, null, 2))
      for (const line of mergeLines(found.merges, context.terminal, Date.now())) context.out(line)
    })

  const act = (name: 'retry' | 'abort', { about, said }: { about: string; said: (merge: MergeView) => string }) =>
    merge
      .command(name)
      .description(about)
      .argument('<merge>', REF)
      .option('--json', 'print JSON')
      .action(async (ref: string, _: object, command: Command) => {
        const context = await contextOf(command)
        const done = await ask<{ merge: MergeView }>(context, 'POST', `/merges/${encodeURIComponent(ref)}/${name}`)
        context.out(context.json ? JSON.stringify(done, null, 2) : said(done.merge))
      })

  act('retry', {
    about: 'Looks again now at one that waits, or tries one that was given up once more.',
    said: ({ task_id, target }) => `${task_id}: it is looked at again, for ${target}.`,
  })
  act('abort', {
    about: 'Calls a merge off; the work stays on its branch.',
    said: ({ task_id, branch }) => `${task_id}: called off. Its work is on ${branch}: pcc diff ${task_id}`,
  })
}

async function ask<T>(context: CommandContext, method: 'GET' | 'POST', route: string): Promise<T> {
  const client = await openClient(context.paths, context)
  return client.request<T>(method, route, method === 'POST' ? {} : undefined)
}

const HEAD = ['No', 'Task', 'State', 'Into', 'Since', 'What']

/** `pcc merge list`: one line each, in columns; why one waits is told in full below it. */
function mergeLines(merges: readonly MergeView[], { paint, width }: Terminal, now: number): string[] {
  if (merges.length === 0) return ['No merges. Work is queued here when its gates have passed.']
  const rows = merges.map(each => [
    String(each.id),
    each.task_id,
    WORDS[each.state],
    firstLine(each.target),
    ago(now - each.updated_at),
    firstLine(each.title ?? each.branch),
  ])
  const widths = HEAD.map((head, column) => Math.max(...[HEAD, ...rows].map(row => widthOf(row[column] ?? head))))
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, column) => pad(cell, widths[column] ?? 0))
    return cut(padded.join('  ').trimEnd(), width)
  }
  const indent = ' '.repeat((widths[0] ?? 0) + 2)
  const why = (merge: MergeView) => {
    const text = whyText(merge)
    return text === '' ? [] : [paint('dim', `${indent}${text}`)]
  }
  return [paint('bold', line(HEAD)), ...merges.flatMap((each, index) => [line(rows[index] ?? []), ...why(each)])]
}

function whyText({ reason, state, ahead, task_id }: MergeView): string {
  if (reason !== null) return firstLine(reason)
  if (state === 'review') return `waits for your review: pcc review ${task_id}`
  return state === 'queued' && ahead > 0 ? `${ahead} before it` : ''
}

const WORDS: Record<MergeState, string> = {
  queued: 'queued',
  rebasing: 'at work',
  verifying: 'verified again',
  landing: 'landing',
  conflicted: 'conflict',
  waiting: 'waits',
  review: 'review',
  merged: 'merged',
  proposed: 'pull request',
  failed: 'given up',
  aborted: 'called off',
}
