import type { Command } from 'commander'
import type { BrokenNote } from '../../../knowledge/notes/note.ts'
import { brokenLines } from '../../notes/lines.ts'
import { taskCall, taskPath } from './call.ts'

/** Answer of GET /tasks/:ref/brief */
interface TaskBrief {
  task: string
  text: string
  tokens: number
  dropped: { section: string; tokens: number; whole: boolean }[]
  skipped: BrokenNote[]
}

/** `pcc task brief`. */
export function addBriefCommand(task: Command): void {
  task
    .command('brief')
    .description('Exactly what an agent would be sent for a task now.')
    .argument('<task>', 'id, or a unique beginning of it')
    .option('--json', 'print JSON')
    .action(async (ref: string, _options: object, command: Command) => {
      const { client, show, note, terminal } = await taskCall(command, { writes: false })
      const brief = await client.request<TaskBrief>('GET', `${taskPath(ref)}/brief`)
      show(brief, () => [brief.text])
      for (const { section, tokens, whole } of brief.dropped) {
        note(`${whole ? 'Left out' : 'Cut'}: ${section}, about ${tokens} tokens.`)
      }
      for (const line of brokenLines(brief.skipped, terminal)) note(line)
    })
}
