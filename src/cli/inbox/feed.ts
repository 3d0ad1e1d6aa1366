import { messageOf } from '../../base/errors.ts'
import type { SessionView } from '../../domain/api.ts'
import type { EscalationView } from '../../domain/escalation.ts'
import type { EventKind } from '../../domain/event.ts'
import type { Connection } from '../connection/connection.ts'
import { keepLooking } from '../connection/keep-looking.ts'
import type { Waiting } from './inbox.ts'
import { askingElsewhere } from './needs-you.ts'

export interface Feed {
  client: Connection
  signal: AbortSignal
  show(now: Waiting): void
  /** The daemon does not answer; it is asked again. */
  lost(problem: string): void
}

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
export async function followInbox({ client, signal, show, lost }: Feed): Promise<void> {
  const look = async () => {
    const as_of = Date.now()
    try {
      const [{ escalations: rows }, { sessions }] = await Promise.all([
        client.request<{ escalations: EscalationView[] }>('GET', '/escalations'),
        client.request<{ sessions: SessionView[] }>('GET', '/sessions?status=waiting_input'),
      ])
      if (!signal.aborted) show({ rows, asking: askingElsewhere({ rows, sessions }), as_of })
      return 'seen'
    } catch (error) {
      if (!signal.aborted) lost(messageOf(error))
      return 'missed'
    }
  }
  // The ages of rows change, and what was refused has no event of its own.
  await keepLooking({ client, signal, isTelling: ({ kind }) => TELLING.has(kind), everyMs: 2_000, apartMs: 150, look })
}
