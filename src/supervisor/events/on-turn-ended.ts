import type { SessionEvent } from '../../domain/session.ts'
import type { Run, Step } from '../run.ts'
import { runSigils } from '../sigils/run-sigils.ts'
import { eventOf } from './agent-event.ts'
import { capText } from './cap.ts'

/** A turn is over; what that means for the session is `endingOf`'s to say. */
export function onTurnEnded(event: Extract<SessionEvent, { kind: 'turn_ended' }>, run: Run): Step {
  // Read before the text is cut: what an agent asks for stands at the end.
  const text = capText(event.text)
  const isCut = text !== event.text
  const sigils = run.row.options.run && runSigils(event.text, { task: run.row.task_id, isCut })
  const body = {
    outcome: event.outcome,
    text,
    turns: event.turns,
    duration_ms: event.durationMs,
    denials: event.denials,
    ...(event.failure === undefined ? {} : { failure: event.failure }),
    ...(sigils && { sigils }),
  }
  return { events: [eventOf(run, 'turn.ended', body)], patch: { turns: run.before.turns + event.turns } }
}
