import type { Client } from '../client.ts'
import { attach } from '../commands/attach.ts'
import type { Context } from '../context.ts'
import { followSession } from '../live/follow.ts'

/** Stays until the session of a phase stands still: shown and answered here, or in silence where JSON is wanted. */
export async function watchPhase(
  session: string,
  { client, context }: { client: Client; context: Context },
): Promise<number> {
  if (!context.json) return attach(session, context)
  const over = new AbortController()
  for await (const { kind } of followSession(client, { session, after: 0, attach: false, signal: over.signal })) {
    if (kind === 'session.ended') break
  }
  over.abort()
  return 0
}
