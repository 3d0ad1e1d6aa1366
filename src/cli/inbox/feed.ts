import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../base/errors.ts'
import type { SessionView } from '../../domain/api.ts'
import type { EscalationView } from '../../domain/escalation.ts'
import type { EventKind } from '../../domain/event.ts'
import type { Connection } from '../connection/connection.ts'
import type { Waiting } from './inbox.ts'
import { askingElsewhere } from './needs-you.ts'

export interface Feed {
  client: Connection
  signal: AbortSignal
  show(now: Waiting): void
  /** The daemon does not answer; it is asked again. */
  lost(problem: string): void
}

/** Looked at again even if no event says so: the ages of rows change, and what was refused has no event of its own. */
const EVERY_MS = 2_000
/** A hundred questions at once are one look. */
const APART_MS = 150

const TELLING: ReadonlySet<EventKind> = new Set([
  'permission.asked',
  'permission.parked',
  'permission.decided',
  'question.asked',
  'question.parked',
  'question.answered',
  'escalation.answered',
  'session.resumed',
  'session.ended',
])

/** Shows what waits for a person as it changes, until the signal. A daemon that goes away and comes back is no end. */
export async function followInbox(feed: Feed): Promise<void> {
  const { client, signal, show, lost } = feed
  let ring = () => {}
  const listening = listen(feed, () => ring())
  while (!signal.aborted) {
    const rung = new Promise<void>(resolve => {
      ring = resolve
    })
    const as_of = Date.now()
    try {
      const [{ escalations: rows }, { sessions }] = await Promise.all([
        client.request<{ escalations: EscalationView[] }>('GET', '/escalations'),
        client.request<{ sessions: SessionView[] }>('GET', '/sessions?status=waiting_input'),
      ])
      if (!signal.aborted) show({ rows, asking: askingElsewhere({ rows, sessions }), as_of })
    } catch (error) {
      if (!signal.aborted) lost(messageOf(error))
    }
    await pause(APART_MS, signal)
    const waited = new AbortController()
    await Promise.race([rung, pause(EVERY_MS, AbortSignal.any([signal, waited.signal]))])
    waited.abort()
  }
  await listening
}

async function listen({ client, signal }: Feed, ring: () => void): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const { kind } of client.stream('/events?from=now', { after: 0, signal })) {
        if (TELLING.has(kind)) ring()
      }
    } catch {
      // The look itself tells that the daemon is gone.
    }
    await pause(EVERY_MS, signal)
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined) // left, or woken
}
