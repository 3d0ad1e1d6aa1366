import type { SessionStatus } from './api.ts'

/** What a session is doing, as its row says it. `ended` comes with an `EndedAs`. */
export type SessionState = 'queued' | 'starting' | 'running' | 'asking' | 'ended'

/** How a session ended. Only `completed` is a success; `paused`, `rate_limited` and `waiting_input` can go on later. */
export type EndedAs = 'completed' | 'stopped' | 'paused' | 'rate_limited' | 'waiting_input' | 'error'

/** The columns of a session's row that its status follows from. */
export interface StatusFacts {
  id: string
  state: SessionState
  ended_as: EndedAs | null
  status_reason: string | null
  /** The daemon (one boot of it) that runs the session. */
  owner: string | null
}

/** The status a person sees. A live row of another boot is an error: the daemon that ran it died without ending it. */
export function statusOf(row: StatusFacts, currentOwner: string): { status: SessionStatus; reason: string | null } {
  if (row.state === 'ended') return { status: row.ended_as ?? 'error', reason: row.status_reason }
  if (row.owner !== currentOwner) return { status: 'error', reason: interruption(row) }
  return { status: LIVE_STATUS[row.state], reason: row.status_reason }
}

const LIVE_STATUS = {
  queued: 'idle',
  starting: 'idle',
  running: 'processing',
  asking: 'waiting_input',
} as const satisfies Record<Exclude<SessionState, 'ended'>, SessionStatus>

function interruption(row: StatusFacts): string {
  return `interrupted; go on with: pcc resume ${row.id}`
}
