import type { SessionEvent } from '../../domain/session.ts'
import type { Run, Step } from '../run.ts'
import { byAgent, eventOf } from './agent-event.ts'
import { capText } from './cap.ts'

/** Words of the agent. */
export function onSaid(event: Extract<SessionEvent, { kind: 'text' }>, run: Run): Step {
  return { events: [eventOf(run, 'agent.said', { text: capText(event.text), ...byAgent(event) })], patch: {} }
}

/** Thoughts of the agent. */
export function onThought(event: Extract<SessionEvent, { kind: 'thinking' }>, run: Run): Step {
  return { events: [eventOf(run, 'agent.thought', { text: capText(event.text), ...byAgent(event) })], patch: {} }
}
