import { vendorHost } from '../../domain/account/label.ts'
import type { Failure, SessionEvent } from '../../domain/session.ts'
import type { Run, Step } from '../run.ts'
import { eventOf } from './agent-event.ts'

/** The vendor failed and the agent tries again by itself. */
export function onRetry(event: Extract<SessionEvent, { kind: 'retry' }>, run: Run): Step {
  const { attempt, maxRetries, delayMs, failure } = event
  const body = { attempt, max_retries: maxRetries, delay_ms: delayMs, failure: withAddress(failure, run) }
  return { events: [eventOf(run, 'agent.retried', body)], patch: {} }
}

/** Where no answer came, a person looks at the address first. */
function withAddress(failure: Failure, { open, driver }: Run): Failure {
  if (failure.kind !== 'network') return failure
  return { ...failure, message: `no answer from ${vendorHost(open.env, driver.agent)}: ${failure.message}` }
}

/** The agent shortens its own memory of the conversation. */
export function onCompacting(event: Extract<SessionEvent, { kind: 'compacting' }>, run: Run): Step {
  return { events: [eventOf(run, 'agent.compacted', { state: event.state })], patch: {} }
}
