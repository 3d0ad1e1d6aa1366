import type { SessionEvent } from '../../domain/session.ts'
import type { Run, Step } from '../run.ts'
import { eventOf } from './agent-event.ts'

/** The agent is up: its conversation id is what a resume needs, so it is stored at once. Every turn starts with one. */
export function onStarted(event: Extract<SessionEvent, { kind: 'started' }>, run: Run): Step {
  const known = run.row.state !== 'starting' && run.row.vendor_id === event.vendorId
  const started = {
    vendor_id: event.vendorId,
    model: event.model,
    resumed: event.resumed,
    ...(event.version === undefined ? {} : { version: event.version }),
  }
  return {
    events: known ? [] : [eventOf(run, 'agent.started', started)],
    patch: {
      vendor_id: event.vendorId,
      model: event.model,
      ...(run.row.state === 'starting' ? { state: 'running' as const } : {}),
    },
  }
}
