import type { Command } from 'commander'
import { openClient } from '../../client.ts'
import { contextOf } from '../../context.ts'
import { pendingLines, type ShownEscalation } from './pending-lines.ts'

/** `pcc pending`: what waits for a person, and what was refused because nobody was there. */
export function addPendingCommand(program: Command): void {
  program
    .command('pending')
    .description('List what waits for your decision, and what was refused because nobody was there.')
    .option('--session <session>', 'only of this session: id, unique beginning of an id, or name')
    .option('--json', 'print JSON')
    .action(async ({ session }: { session?: string }, command: Command) => {
      const { places, json, out, terminal, ...context } = await contextOf(command)
      const client = await openClient(places, context)
      const query = session === undefined ? '' : `?session=${encodeURIComponent(session)}`
      const reply = await client.request<{ escalations: ShownEscalation[] }>('GET', `/escalations${query}`)
      if (json) return out(JSON.stringify({ escalations: reply.escalations }, null, 2))
      for (const line of pendingLines(reply.escalations, terminal, Date.now())) out(line)
    })
}
