import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../base/errors.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { Connection } from '../connection/connection.ts'

export interface Follow {
  session: string
  after: number
  /** Counts as a person at a terminal for as long as it is open. */
  attach: boolean
  signal: AbortSignal
}

/** Its parent brings a daemon back within a second or two; a crowded machine takes longer. */
const RETRIES = 40
const RETRY_MS = 250

/** The events of a session as they come. A cut stream is taken up where it was; a daemon that stays away is an error. */
export async function* followSession(
  client: Connection,
  { session, after, attach, signal }: Follow,
): AsyncGenerator<StoredEvent> {
  const path = `/events?session=${encodeURIComponent(session)}${attach ? '&attach=1' : ''}`
  let last = after
  for (let tries = 0; tries < RETRIES; tries++) {
    try {
      for await (const event of client.stream(path, { after: last, signal })) {
        last = event.id
        tries = 0
        yield event
      }
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof AppError && error.code === 'daemon_unreachable')) throw error
    }
    if (signal.aborted) return
    await sleep(RETRY_MS)
  }
  throw new AppError('daemon_gone', { id: session })
}
