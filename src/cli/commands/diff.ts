import type { Command } from 'commander'
import type { TaskDiff } from '../../domain/merge.ts'
import { openClient, taskPath } from '../connection/client.ts'
import { contextOf } from '../context.ts'
import { diffHeading, diffLines, pageOut, statLines } from './review.ts'

/** `pcc diff`: what an agent changed for a task, wherever it lies by now. */
export function addDiffCommand(program: Command): void {
  program
    .command('diff')
    .description(
      'What was changed for a task: in its worktree as it is now, in what was merged, or in what was kept of it.',
    )
    .argument('<task>', 'id, or a unique beginning of it')
    .option('--stat', 'only which files, and how many lines')
    .option('--json', 'print JSON')
    .action(async (ref: string, { stat }: { stat?: true }, command: Command) => {
      const context = await contextOf(command)
      const { json, out, terminal } = context
      const client = await openClient(context.paths, context)
      const found = await client.request<TaskDiff>('GET', `${taskPath(ref)}/diff${stat ? '?stat=true' : ''}`)
      if (json) return out(JSON.stringify(found, null, 2))
      if (found.files.length === 0) context.note(`Nothing was changed for ${found.task}.`)
      // What is piped on is the diff byte for byte, so that `git apply` understands it, and nothing else.
      if (!process.stdout.isTTY && !stat && !found.cut) return void process.stdout.write(found.diff ?? '')
      const lines = stat || found.cut ? statLines(found, terminal) : diffLines(found, terminal)
      await pageOut([diffHeading(found, terminal), '', ...lines], context)
    })
}
