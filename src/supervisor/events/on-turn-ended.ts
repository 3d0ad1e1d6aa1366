import type { SessionEvent } from '../../domain/session.ts'
import type { Run, Step } from '../run.ts'
import { eventOf } from './agent-event.ts'
import { capText } from './cap.ts'

/** A turn is over; what that means for the session is `endingOf`'s to say. */
export function onTurnEnded(event: Extract<SessionEvent, { kind: 'turn_ended' }>, run: Run): Step {
  const body = {
    outcome: event.outcome,
    text: capText(event.text),
    turns: event.turns,
    duration_ms: event.durationMs,
    denials: event.denials,
    ...(event.failure === undefined ? {} : { failure: event.failure }),
  }
  return { events: [eventOf(run, 'turn.ended', body)], patch: { turns: run.before.turns + event.turns } }
}
