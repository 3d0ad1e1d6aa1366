import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { MergeView } from '../../domain/workspace/merge.ts'
import { openClient } from '../client.ts'
import { type Context, contextOf } from '../context.ts'
import { mergeLines } from './lines.ts'

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

async function ask<T>(context: Context, method: 'GET' | 'POST', route: string): Promise<T> {
  const client = await openClient(context.places, context)
  return client.request<T>(method, route, method === 'POST' ? {} : undefined)
}
