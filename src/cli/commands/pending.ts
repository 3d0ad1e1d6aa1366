import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import { type Client, openClient } from '../connection/client.ts'
import { commandContext } from '../context.ts'
import { pendingLines, type ShownEscalation } from '../render/escalation-lines.ts'

interface PendingOptions {
  session?: string
  watch?: boolean
}

/** `pcc pending`: what waits for a person, and what was refused because nobody was there. */
export function addPendingCommand(program: Command): void {
  program
    .command('pending')
    .description('List what waits for your decision, and what was refused because nobody was there.')
    .option('--session <session>', 'only for this session: id, unique beginning of an id, or name')
    .option('--watch', 'keep showing it, as it changes, until Ctrl+C')
    .option('--json', 'print JSON; with --watch one object a line for each change')
    .action(async ({ session, watch }: PendingOptions, command: Command) => {
      const { paths, json, out, terminal, ...context } = await commandContext(command)
      const client = await openClient(paths, context)
      const query = session === undefined ? '' : `?session=${encodeURIComponent(session)}`
      const page = async () => {
        const { escalations } = await client.request<{ escalations: ShownEscalation[] }>('GET', `/escalations${query}`)
        if (json) return [JSON.stringify({ escalations }, null, watch ? undefined : 2)]
        return pendingLines(escalations, {
          asking: await readAskingSessions(client, session),
          terminal,
          now: Date.now(),
        })
      }
      if (watch) return (await import('../live/terminal.ts')).watchPage({ page, json, out })
      for (const line of await page()) out(line)
    })
}

/** Reads the sessions that wait for an answer. A question at a terminal has no number and is answered there. */
async function readAskingSessions(client: Client, ref: string | undefined): Promise<SessionView[]> {
  if (ref === undefined) {
    return (await client.request<{ sessions: SessionView[] }>('GET', '/sessions?status=waiting_input')).sessions
  }
  const session = await client.request<SessionView>('GET', `/sessions/${encodeURIComponent(ref)}`)
  return session.status === 'waiting_input' ? [session] : []
}
