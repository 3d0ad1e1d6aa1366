import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { MergeState, MergeView } from '../../domain/merge.ts'
import { openClient } from '../connection/client.ts'
import { type CommandContext, commandContext } from '../context.ts'
import { ago } from '../render/format.ts'
import { cut, firstLine, pad, type Terminal, widthOf } from '../render/text.ts'

const REF_HELP = 'the number of a merge, or the id of a task or a unique beginning of it'

/** `pcc merge`: the merges of verified work into its target branch. */
export function addMergeCommand(program: Command): void {
  const merge = program
    .command('merge')
    .description('See and control the merges of verified work into its target branch')

  merge
    .command('list', { isDefault: true })
    .description('List the merges: queued, waiting, and those whose conflicts an agent resolves')
    .option('--project <path>', 'only merges of this project')
    .option('--all', 'also merges that are over')
    .option('--json', 'print JSON')
    .action(async ({ project, all }: { project?: string; all?: true }, command: Command) => {
      const context = await commandContext(command)
      const filter = project === undefined ? [] : [`project=${encodeURIComponent(resolve(project))}`]
      const query = [...filter, ...(all ? ['all=true'] : [])].join('&')
      const reply = await request<{ merges: MergeView[] }>(context, 'GET', `/merges${query && `?${query}`}`)
      if (context.json) return context.out(JSON.stringify(reply, null, 2))
      for (const line of mergeLines(reply.merges, context.terminal, Date.now())) context.out(line)
    })

  const addAction = (
    name: 'retry' | 'abort',
    { about, describe }: { about: string; describe: (merge: MergeView) => string },
  ) =>
    merge
      .command(name)
      .description(about)
      .argument('<merge>', REF_HELP)
      .option('--json', 'print JSON')
      .action(async (ref: string, _: object, command: Command) => {
        const context = await commandContext(command)
        const reply = await request<{ merge: MergeView }>(context, 'POST', `/merges/${encodeURIComponent(ref)}/${name}`)
        context.out(context.json ? JSON.stringify(reply, null, 2) : describe(reply.merge))
      })

  addAction('retry', {
    about: 'Try a waiting merge now, or once more one that was given up',
    describe: ({ task_id, target }) => `${task_id}: its merge into ${target} is tried again.`,
  })
  addAction('abort', {
    about: 'Call a merge off; the work stays on its branch',
    describe: ({ task_id, branch }) => `${task_id}: called off. Its work is on ${branch}: pcc diff ${task_id}`,
  })
}

async function request<T>(context: CommandContext, method: 'GET' | 'POST', route: string): Promise<T> {
  const client = await openClient(context.paths, context)
  return client.request<T>(method, route, method === 'POST' ? {} : undefined)
}

const HEADINGS = ['No', 'Task', 'State', 'Into', 'Since', 'What']

/** The table of `pcc merge list`; the full reason of a wait is shown below its row. */
function mergeLines(merges: readonly MergeView[], { paint, width }: Terminal, now: number): string[] {
  if (merges.length === 0) return ['No merges. Work is queued here when its gates have passed.']
  const rows = merges.map(merge => [
    String(merge.id),
    merge.task_id,
    STATE_TEXT[merge.state],
    firstLine(merge.target),
    ago(now - merge.updated_at),
    firstLine(merge.title ?? merge.branch),
  ])
  const widths = HEADINGS.map((heading, column) =>
    Math.max(...[HEADINGS, ...rows].map(row => widthOf(row[column] ?? heading))),
  )
  const formatLine = (cells: readonly string[]) => {
    const padded = cells.map((cell, column) => pad(cell, widths[column] ?? 0))
    return cut(padded.join('  ').trimEnd(), width)
  }
  const indent = ' '.repeat((widths[0] ?? 0) + 2)
  const reasonLines = (merge: MergeView) => {
    const text = describeWait(merge)
    return text === '' ? [] : [paint('dim', `${indent}${text}`)]
  }
  return [
    paint('bold', formatLine(HEADINGS)),
    ...merges.flatMap((merge, index) => [formatLine(rows[index] ?? []), ...reasonLines(merge)]),
  ]
}

function describeWait({ reason, state, ahead, task_id }: MergeView): string {
  if (reason !== null) return firstLine(reason)
  if (state === 'review') return `waits for your review: pcc review ${task_id}`
  return state === 'queued' && ahead > 0 ? `${ahead} before it` : ''
}

const STATE_TEXT: Record<MergeState, string> = {
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
