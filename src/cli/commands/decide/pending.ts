import type { Command } from 'commander'
import type { SessionView } from '../../../domain/api.ts'
import { type Client, openClient } from '../../client.ts'
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
      const asking = await askingSessions(client, session)
      for (const line of pendingLines(reply.escalations, { asking, terminal, now: Date.now() })) out(line)
    })
}

/** Sessions that wait for an answer. What is asked at a terminal has no number: it is answered where it is asked. */
async function askingSessions(client: Client, ref: string | undefined): Promise<SessionView[]> {
  if (ref === undefined) {
    return (await client.request<{ sessions: SessionView[] }>('GET', '/sessions?status=waiting_input')).sessions
  }
  const session = await client.request<SessionView>('GET', `/sessions/${encodeURIComponent(ref)}`)
  return session.status === 'waiting_input' ? [session] : []
}
