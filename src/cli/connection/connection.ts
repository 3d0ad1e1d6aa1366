import type { StoredEvent } from '../../domain/event.ts'

/** What a command asks of the daemon. Errors it answers with are thrown with its own words. */
export interface Connection {
  request<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T>
  /** Follows the event stream until the daemon closes it or the signal is raised. */
  stream(path: string, options: { after: number; signal: AbortSignal }): AsyncIterable<StoredEvent>
}
