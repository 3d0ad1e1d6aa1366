import type { Limit } from '../../domain/account/limit.ts'
import type { SessionEvent } from '../../domain/session.ts'

export type LimitEvent = Extract<SessionEvent, { kind: 'limit' }>

/** The limit that ended a turn: what the account's record said before, else what the words of the agent's own error say. */
export function recordedLimit(
  event: LimitEvent | undefined,
  { message, resetsAt }: { message: string; resetsAt: number | undefined },
): Limit {
  const rejected = event?.status === 'rejected' ? event : undefined
  const window = rejected?.window !== undefined ? { window: rejected.window } : {}
  if (rejected?.resetsAt !== undefined) return { ...window, resetsAt: rejected.resetsAt, source: 'event', message }
  if (resetsAt !== undefined) return { ...window, resetsAt, source: 'message', message }
  return { ...window, source: rejected ? 'event' : 'result', message }
}
