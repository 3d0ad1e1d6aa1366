import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { Connection } from '../connection/connection.ts'
import { INDENT, type Terminal } from '../render/paint.ts'
import { SUMMARY_KINDS, summaryLines, summaryOf } from '../render/summary.ts'
import { neutral, wrap } from '../render/text.ts'

/** What is printed when a session is over, from all of its events. */
export async function closingLines(
  client: Connection,
  over: SessionView | Promise<SessionView>,
  { id, terminal }: { id: string; terminal: Terminal },
): Promise<string[]> {
  const path = `/sessions/${id}/events?kinds=${SUMMARY_KINDS.join(',')}`
  const asked = client.request<{ events: StoredEvent[] }>('GET', path)
  const [session, { events }] = await Promise.all([over, asked])
  return summaryLines(session, summaryOf(events), terminal)
}

/** The end of a session that has none in its log, because the daemon that ran it died: told from what it shows now. */
export function interruptedLines({ status, reason, ended_at }: SessionView, terminal: Terminal): string[] {
  if (status !== 'error' || ended_at !== null) return []
  const lines = wrap(`Session ${neutral(reason ?? 'interrupted')}`, terminal.width - INDENT)
  return lines.map(line => `${' '.repeat(INDENT)}${terminal.paint('red', line)}`)
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
