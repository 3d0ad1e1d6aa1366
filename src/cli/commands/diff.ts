import type { Command } from 'commander'
import type { TaskDiff } from '../../domain/merge.ts'
import { openClient } from '../connection/client.ts'
import { commandContext } from '../context.ts'
import { diffHeading, diffLines, pageOut, statLines } from './review.ts'
import { taskPath } from './task/call.ts'

/** `pcc diff`: what an agent changed for a task, wherever the change is by now. */
export function addDiffCommand(program: Command): void {
  program
    .command('diff')
    .description('Show what was changed for a task: in its worktree, in its merge, or in what was kept of it')
    .argument('<task>', 'id, or a unique beginning of it')
    .option('--stat', 'only which files, and how many lines')
    .option('--json', 'print JSON')
    .action(async (ref: string, { stat }: { stat?: true }, command: Command) => {
      const context = await commandContext(command)
      const { json, out, terminal } = context
      const client = await openClient(context.paths, context)
      const diff = await client.request<TaskDiff>('GET', `${taskPath(ref)}/diff${stat ? '?stat=true' : ''}`)
      if (json) return out(JSON.stringify(diff, null, 2))
      if (diff.files.length === 0) context.note(`Nothing was changed for ${diff.task}.`)
      // A pipe gets exactly the bytes of the diff, so that `git apply` understands it.
      if (!process.stdout.isTTY && !stat && !diff.cut) return void process.stdout.write(diff.diff ?? '')
      const lines = stat || diff.cut ? statLines(diff, terminal) : diffLines(diff, terminal)
      await pageOut([diffHeading(diff, terminal), '', ...lines], context)
    })
}
