import type { SessionEvent } from '../../domain/session.ts'
import type { Run, Step } from '../run.ts'
import { eventOf } from './agent-event.ts'

type LimitEvent = Extract<SessionEvent, { kind: 'limit' }>

/** How full the vendor's windows are. Only a refusal stops anything, and it is settled with the turn it ends. */
export function onLimit(event: LimitEvent, run: Run): Step {
  if (event.status === 'rejected') {
    run.limit = { window: event.window, resetsAt: event.resetsAt }
    return { events: [], patch: {} }
  }
  run.limit = undefined
  if (event.status === 'allowed') return { events: [], patch: {} }
  return { events: [eventOf(run, 'limit.warned', warning(event))], patch: {} }
}

function warning(event: LimitEvent) {
  return {
    ...(event.window === undefined ? {} : { window: event.window }),
    ...(event.utilization === undefined ? {} : { utilization: event.utilization }),
    ...(event.resetsAt === undefined ? {} : { resets_at: event.resetsAt }),
    ...(event.windows === undefined ? {} : { windows: event.windows }),
  }
}
