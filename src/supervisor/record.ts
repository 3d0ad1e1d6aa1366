import { redactValues } from '../base/redact.ts'
import type { NewEvent } from '../domain/event.ts'
import { openEscalations } from '../human/escalations.ts'
import type { SessionRow } from '../store/tables.ts'
import type { Parts, Run, Step } from './run.ts'

/**
 * Stores what happened: events and row in one transaction. The copy of the row changes at once, so that the next step, which
 * may be computed while this one is being written, counts on from it; the store keeps the order.
 */
export async function record(run: Run, parts: Parts, step: Step): Promise<void> {
  // An ask that is withdrawn by the session's own end may come back after it: an ended row stays as it is.
  if (run.row.state === 'ended') return
  const patch = patchWithoutSecrets(step.patch, run)
  const before = run.row
  run.row = { ...run.row, ...patch }
  if (step.events.length === 0 && Object.keys(patch).length === 0 && !step.escalation) return
  try {
    await parts.store.transaction(async tx => {
      await tx.append(step.events.map(event => withoutSecrets(event, run)))
      if (Object.keys(patch).length > 0) await parts.store.sessions.update(run.id, patch, tx)
      if (step.escalation) await openEscalations(parts).record(redactValues(step.escalation, run.secrets), tx)
    })
  } catch (error) {
    run.row = { ...run.row, ...undone(patch, before) }
    throw error
  }
}

/** An agent may print its own key: what is stored has the session's secrets taken out, as the log has. */
function withoutSecrets(event: NewEvent, { secrets }: Run): NewEvent {
  return { ...event, body: redactValues(event.body, secrets) } as NewEvent
}

/** A parked question stays as it was asked: its answer is matched to it by its words. */
function patchWithoutSecrets(patch: Partial<SessionRow>, { secrets }: Run): Partial<SessionRow> {
  const { parked, ...plain } = patch
  return { ...redactValues(plain, secrets), ...(parked !== undefined && { parked }) }
}

/** What was not stored did not happen. */
function undone(patch: Partial<SessionRow>, before: SessionRow): Partial<SessionRow> {
  const names = Object.keys(patch) as (keyof SessionRow)[]
  return Object.fromEntries(names.map(name => [name, before[name]]))
}
