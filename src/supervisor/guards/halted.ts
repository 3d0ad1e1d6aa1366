import type { Limit } from '../../domain/account/limit.ts'
import type { NewEvent } from '../../domain/event.ts'
import { eventOf } from '../events/agent-event.ts'
import { limitHit, taskAfter } from '../loop/endings.ts'
import { errorRow } from '../loop/error-row.ts'
import type { Ending, Run, Trip } from '../run.ts'
import { keyOf } from './budget-trip.ts'

interface Halt {
  /** Its task was completed first. */
  text?: string | undefined
  /** One was met on the way to the stop. */
  limit?: Limit | undefined
}

/**
 * The ending of a session that a guard has stopped. It goes on by itself where a time will mend it; otherwise it waits for a
 * person, who finds it among what needs them.
 */
export function halted(run: Run, why: Trip, { text, limit }: Halt = {}): Ending {
  const { guard, reason, next, resumesAt } = why
  const told = `${reason}\n${next}`
  const isSilent = resumesAt !== undefined
  return {
    as: 'paused',
    reason: told,
    resumesAt,
    events: [...limitHit(limit, run), ...spentEvent(why, run)],
    task: taskAfter(text, reason, resumesAt),
    checkpoint: guard === 'budget' ? 'capped' : 'error',
    ...(!isSilent && { escalation: errorRow({ kind: 'other', message: reason }, run.row, `${reason}. ${next}`) }),
  }
}

function spentEvent({ use }: Trip, run: Run): NewEvent[] {
  return use ? [eventOf(run, 'budget.spent', { ...use, key: keyOf(use.scope, run.row) }, 'daemon')] : []
}
