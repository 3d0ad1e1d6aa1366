import type { Command } from 'commander'
import type { RefusedSpeaker, SessionView } from '../../domain/api.ts'
import { type Client, openClient } from '../connection/client.ts'
import { commandContext } from '../context.ts'
import { pendingLines, refusedSpeakerLines, type ShownEscalation } from '../render/escalation-lines.ts'

interface PendingOptions {
  session?: string
  watch?: boolean
}

interface PendingReply {
  escalations: ShownEscalation[]
  refused_speakers?: RefusedSpeaker[]
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
        const reply = await client.request<PendingReply>('GET', `/escalations${query}`)
        // A daemon that is older than this program does not list them.
        const { escalations, refused_speakers = [] } = reply
        if (json) return [JSON.stringify({ escalations, refused_speakers }, null, watch ? undefined : 2)]
        const asking = await readAskingSessions(client, session)
        const now = Date.now()
        return [
          ...pendingLines(escalations, { asking, terminal, now }),
          ...refusedSpeakerLines(refused_speakers, { width: terminal.width, now }),
        ]
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
