import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { Connection } from '../connection/connection.ts'
import type { Terminal } from '../render/paint.ts'
import { SUMMARY_KINDS, summaryLines, summaryOf } from '../render/summary.ts'

/** What is printed when a session is over, from all of its events. */
export async function closingLines(client: Connection, session: SessionView, terminal: Terminal): Promise<string[]> {
  const path = `/sessions/${session.id}/events?kinds=${SUMMARY_KINDS.join(',')}`
  const { events } = await client.request<{ events: StoredEvent[] }>('GET', path)
  return summaryLines(session, summaryOf(events), terminal)
}

/** Whether nothing more will happen in a session by itself. One that a dead daemon left has no end, but it is over. */
export function isOver(session: SessionView): boolean {
  return session.ended_at !== null || session.status === 'error'
}

/** The exit code of a command that saw a session end: only `completed` is 0. */
export function exitOf(session: SessionView): number {
  switch (session.status) {
    case 'completed':
      return 0
    case 'waiting_input':
      return 3
    case 'rate_limited':
    case 'paused':
      return 4
    case 'stopped':
      return 130
    default:
      return 1
  }
}
