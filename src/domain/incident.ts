import type { Escalation } from './escalation.ts'

/** A recovery that failed after its retries: its session does not go on by itself. It is listed for ever, also after it is over. */
export interface Incident {
  number: number
  at: number
  /** When the same happened last. */
  last_at: number
  count: number
  session_id: string
  task_id: string | null
  project: string
  reason: string
  /** Null while it waits for a person. */
  over_at: number | null
  /** What ended it: a person's answer, or that nobody needs one any more. */
  over: string | null
}

/** The incident that an escalation is, if it is one. A spent budget is no failure. */
export function toIncident(row: Escalation): Incident | undefined {
  const { kind, tool, input, state, number, created_at, last_at, count, session_id, task_id, project, reason } = row
  if (kind !== 'error' || tool !== 'session' || input['guard'] !== undefined) return undefined
  const isOpen = state === 'open'
  const said = row.verdict === 'allow' ? 'tried again' : 'left as it is'
  const over = state === 'answered' ? `${said}, by ${row.answered_by ?? 'nobody'}` : (row.answer_reason ?? state)
  return {
    ...{ number, at: created_at, last_at, count, session_id, task_id, project, reason },
    over_at: isOpen ? null : (row.answered_at ?? last_at),
    over: isOpen ? null : over,
  }
}
