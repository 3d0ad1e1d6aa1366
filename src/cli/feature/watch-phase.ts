import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { Client } from '../client.ts'
import { attach } from '../commands/attach.ts'
import type { Context } from '../context.ts'
import { exitOf } from '../live/closing.ts'
import { followSession } from '../live/follow.ts'
import { goesOnByItself } from '../live/waiting/countdown.ts'
import { isOver } from '../render/format.ts'

/** Stays until the session of a phase stands still: shown and answered here, or in silence where JSON is wanted. */
export async function watchPhase(
  session: string,
  { client, context }: { client: Client; context: Context },
): Promise<number> {
  if (!context.json) return attach(session, context)
  const path = `/sessions/${session}`
  // It may have ended before and gone on, or do so at its time: only an end that is still to come counts, and that stays.
  const { events } = await client.request<{ events: StoredEvent[] }>('GET', `${path}/events?tail=1`)
  const now = await client.request<SessionView>('GET', path)
  if (!isOver(now) || now.resumes_at !== null) {
    const over = new AbortController()
    const after = events.at(-1)?.id ?? 0
    for await (const event of followSession(client, { session, after, attach: false, signal: over.signal })) {
      if (event.kind === 'session.ended' && !goesOnByItself(event)) break
    }
    over.abort()
  }
  return exitOf(await client.request<SessionView>('GET', path))
}
