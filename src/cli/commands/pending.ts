import type { Command } from 'commander'
import type { RefusedSpeaker } from '../../domain/api.ts'
import type { NeedsReply } from '../../domain/escalation.ts'
import { openClient } from '../connection/client.ts'
import { commandContext } from '../context.ts'
import { shownRows } from '../render/escalation-lines.ts'
import { pendingLines, refusedSpeakerLines } from '../render/pending-page.ts'

interface PendingOptions {
  session?: string
  watch?: boolean
}

/** `pcc pending`: what waits for a person, and what was refused because nobody was there. */
export function addPendingCommand(program: Command): void {
  program
    .command('pending')
    .description('List everything that waits for you, and what was refused because nobody was there')
    .option('--session <session>', 'only for this session: id, unique beginning of an id, or name')
    .option('--watch', 'keep showing it, as it changes, until Ctrl+C')
    .option('--json', 'print JSON; with --watch one object a line for each change')
    .action(async ({ session, watch }: PendingOptions, command: Command) => {
      const { paths, json, out, terminal, ...context } = await commandContext(command)
      const client = await openClient(paths, context)
      const query = session === undefined ? '' : `?session=${encodeURIComponent(session)}`
      const page = async () => {
        const [reply, speakers] = await Promise.all([
          client.request<NeedsReply>('GET', `/needs${query}`),
          client.request<{ refused_speakers: RefusedSpeaker[] }>('GET', `/escalations${query}`),
        ])
        const { needs, refused, escalations } = reply
        const { refused_speakers } = speakers
        if (json)
          return [JSON.stringify({ needs, refused, escalations, refused_speakers }, null, watch ? undefined : 2)]
        if (!watch && needs.length + refused.length === 0)
          context.note('What was done, and what was refused: pcc report')
        const now = Date.now()
        return [
          ...pendingLines(shownRows(reply), { terminal, now }),
          ...refusedSpeakerLines(refused_speakers, { width: terminal.width, now }),
        ]
      }
      if (watch) return (await import('../live/terminal.ts')).watchPage({ page, json, out })
      for (const line of await page()) out(line)
    })
}
