import type { OpenAsk, SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { Connection } from '../connection/connection.ts'
import { eventLines } from '../render/event-lines.ts'
import type { Terminal } from '../render/paint.ts'
import { neutral } from '../render/text.ts'
import { openAsks } from './asks.ts'
import { followSession } from './follow.ts'
import type { Person } from './person.ts'
import type { Screen } from './screen.ts'

export interface Watch {
  client: Connection
  session: SessionView
  terminal: Terminal
  screen: Screen
  verbose: boolean
  /** The last event that was already shown. */
  after: number
  /** Who answers; without one nobody counts as attached, and nothing is asked here. */
  person?: Person | undefined
  /** Asked before we came. */
  open?: { ask: OpenAsk; callId: string }[]
  /** The caller's environment: a parked session is started again with it. */
  env: Record<string, string>
  /** Instead of lines: what to do with each event. */
  raw?: ((event: StoredEvent) => void) | undefined
  /** Raised to stop watching; the session goes on. */
  signal: AbortSignal
}

/** Shows a session live and puts its asks to the person, until it ends. `undefined`: the watching ended first. */
export async function watchSession(watch: Watch): Promise<Extract<StoredEvent, { kind: 'session.ended' }> | undefined> {
  const { client, session, terminal, screen, person, signal, raw } = watch
  const path = `/sessions/${session.id}/answers`
  const draw = eventLines({ terminal, project: session.project, verbose: watch.verbose })
  await using desk = openAsks({
    person: person ?? { answer: async () => undefined },
    post: async (ask_id, reply) => {
      await client.request('POST', path, { ask_id, by: 'human', ...reply, env: watch.env })
    },
    tell: error => screen.print([terminal.paint('red', `The answer was not taken: ${neutral(String(error))}`)]),
  })
  for (const { ask, callId } of watch.open ?? []) desk.put(ask, callId)
  const follow = { session: session.id, after: watch.after, attach: person !== undefined, signal }
  for await (const event of followSession(client, follow)) {
    if (raw) raw(event)
    else screen.print(draw(event))
    if (person) desk.see(event)
    if (event.kind === 'session.ended') return event
  }
  return undefined
}
