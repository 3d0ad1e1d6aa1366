import type { NewEscalation } from '../../domain/escalation.ts'
import type { Failure } from '../../domain/session.ts'
import type { SessionRow } from '../../store/tables.ts'

/** The row by which a person hears that a session does not go on by itself. Yes tries again, no leaves it. */
export function errorRow(failure: Failure, { id, project, task }: SessionRow, reason: string): NewEscalation {
  return {
    kind: 'error',
    session_id: id,
    project,
    task,
    call_id: '',
    tool: 'session',
    target: failure.message,
    input: { failure },
    risk: 'LOW',
    reason,
    reasons: [],
    normalised: `error ${failure.kind}`,
    state: 'open',
  }
}
