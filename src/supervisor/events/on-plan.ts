import type { SessionEvent } from '../../domain/session.ts'
import type { Run, Step } from '../run.ts'
import { eventOf } from './agent-event.ts'

/** The agent's list of steps changed; the active one is what the session is doing. */
export function onPlan(event: Extract<SessionEvent, { kind: 'plan' }>, run: Run): Step {
  const active = event.items.find(item => item.state === 'active')?.text
  return {
    events: [eventOf(run, 'plan.changed', { items: event.items })],
    patch: { plan: event.items, ...(active === undefined ? {} : { activity: active }) },
  }
}
