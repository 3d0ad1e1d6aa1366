import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { Connection } from '../connection/connection.ts'
import { eventLines } from '../render/lines/event-lines.ts'
import type { Terminal } from '../render/paint.ts'
import { neutral } from '../render/text.ts'
import { type Asked, openAsks } from './asks.ts'
import { followSession } from './follow.ts'
import type { Person } from './person.ts'
import type { Screen } from './screen.ts'
import { canBeResumed, goesOnByItself, openCountdown } from './waiting/countdown.ts'

export interface Watch {
  client: Connection
  session: SessionView
  terminal: Terminal
  screen: Screen
  verbose: boolean
  /** Only what is asked, what stands in the way, and how it ended. */
  quiet?: boolean
  /** The last event that was already shown. */
  after: number
  /** Who answers; without one nobody counts as attached, and nothing is asked here. */
  person?: Person | undefined
  /** Asked before we came. */
  open?: Asked[]
  /** It waits for this time already, and then goes on by itself. */
  resumesAt?: number | undefined
  /** Stays while the session stands still, and goes on showing it when somebody resumes it. */
  stays?: boolean | undefined
  /** It stands still already. */
  rests?: boolean | undefined
  /** The caller's environment: a parked session is started again with it. */
  env: Record<string, string>
  /** Instead of lines: what to do with each event. */
  raw?: ((event: StoredEvent) => void) | undefined
  /** Raised to stop watching; the session goes on. */
  signal: AbortSignal
}

/** Shows a session live and puts its asks to the person, until it ends for good: one that goes on by itself is waited for. `undefined`: the watching ended first. */
export async function watchSession(watch: Watch): Promise<Extract<StoredEvent, { kind: 'session.ended' }> | undefined> {
  const { client, session, terminal, screen, person, signal, raw } = watch
  const path = `/sessions/${session.id}/answers`
  const draw = eventLines({
    terminal,
    project: session.project,
    agent: session.agent,
    verbose: watch.verbose,
    reasonElsewhere: !watch.quiet,
    attended: person !== undefined,
  })
  await using desk = openAsks({
    person: person ?? { answer: async () => undefined },
    pin: lines => screen.pin(lines),
    post: async (ask_id, reply) => {
      await client.request('POST', path, { ask_id, by: 'human', ...reply, env: watch.env })
    },
    tell: error => screen.print([terminal.paint('red', `The answer was not taken: ${neutral(String(error))}`)]),
  })
  if (person) for (const asked of watch.open ?? []) desk.put(asked)
  using countdown = openCountdown({
    screen: watch.quiet || raw ? SILENT : screen,
    id: session.id,
    look: () => client.request<SessionView>('GET', `/sessions/${session.id}`),
  })
  if (watch.resumesAt !== undefined) countdown.begin(watch.resumesAt)
  if (watch.rests) countdown.rest()
  const follow = { session: session.id, after: watch.after, attach: person !== undefined, signal }
  for await (const event of followSession(client, follow)) {
    const lines = raw ? [] : draw(event)
    // Before it is printed: what is settled by it is let go first and so stands above.
    if (person) desk.see(event, lines)
    if (raw) raw(event)
    else if (watch.quiet ? isEssential(event) : !person || !isAsk(event)) screen.print(lines)
    countdown.see(event)
    if (event.kind !== 'session.ended' || goesOnByItself(event)) continue
    if (person && desk.waits()) continue
    if (!watch.stays || !canBeResumed(event)) return event
    countdown.rest()
  }
  return undefined
}

const SILENT: Pick<Screen, 'print' | 'prompt' | 'ticks'> = { ticks: false, print: () => {}, prompt: () => {} }

/** Shown by the desk, when its turn comes. */
function isAsk({ kind }: StoredEvent): boolean {
  return kind === 'permission.asked' || kind === 'question.asked'
}

function isEssential({ kind }: StoredEvent): boolean {
  return kind.endsWith('.parked') || kind === 'limit.hit' || kind === 'session.ended' || kind === 'session.resumed'
}
