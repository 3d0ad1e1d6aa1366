import { openEscalations } from '../human/escalations.ts'
import type { Parts, Run, Step } from './run.ts'

/**
 * Stores what happened: events and row in one transaction. The copy of the row changes at once, so that the next step, which
 * may be computed while this one is being written, counts on from it; the store keeps the order.
 */
export async function record(run: Run, parts: Parts, step: Step): Promise<void> {
  // An ask that is withdrawn by the session's own end may come back after it: an ended row stays as it is.
  if (run.row.state === 'ended') return
  run.row = { ...run.row, ...step.patch }
  if (step.events.length === 0 && Object.keys(step.patch).length === 0) return
  await parts.store.transaction(async tx => {
    await tx.append(step.events)
    if (Object.keys(step.patch).length > 0) await parts.store.sessions.update(run.id, step.patch, tx)
    if (step.escalation) await openEscalations(parts).record(step.escalation, tx)
  })
}
