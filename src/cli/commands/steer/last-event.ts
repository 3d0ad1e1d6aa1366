import type { StoredEvent } from '../../../domain/event.ts'
import type { Connection } from '../../connection/connection.ts'

/** The id of a session's newest event: what comes after it is news. */
export async function lastEvent(client: Connection, session: string): Promise<number> {
  const { events } = await client.request<{ events: StoredEvent[] }>('GET', `/sessions/${session}/events?tail=1`)
  return events.at(-1)?.id ?? 0
}
