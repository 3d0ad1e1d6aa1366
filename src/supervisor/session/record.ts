import { crashPoint } from '../../base/crash-point.ts'
import { AppError } from '../../base/errors.ts'
import { redactValues } from '../../base/redact.ts'
import type { NewEscalation } from '../../domain/escalation.ts'
import type { NewEvent } from '../../domain/event.ts'
import { computeDeadline, type HumanEscalations, openEscalations } from '../../human/escalations.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Move } from '../../tasks/transition.ts'
import { type BookedSpending, bookSpent, stopWhenSpent } from '../guards/spending.ts'
import { type LiveSession, refuseStale, type SessionDeps, type SessionUpdate } from './context.ts'

/**
 * Stores what happened: events and row in one transaction. `live.row` changes at once, so that the next step, which may be
 * computed while this one is being written, builds on it; the store keeps the order. Returns the number of the escalation
 * that was recorded or reopened, if any.
 */
export async function record(live: LiveSession, deps: SessionDeps, step: SessionUpdate): Promise<number | undefined> {
  // An ask that the session's end withdrew may return after it. The row of an ended session stays as it is.
  if (live.row.state === 'ended') return undefined
  const patch = patchWithoutSecrets(step.patch, live)
  const before = live.row
  live.row = { ...live.row, ...patch }
  if (step.events.length === 0 && Object.keys(patch).length === 0 && !step.escalation && !step.task) return undefined
  const escalations = openEscalations(deps)
  let booked: BookedSpending | undefined
  let stored: number | undefined
  try {
    stored = await deps.store.transaction(async tx => {
      await refuseStale(live, tx)
      if (step.settle) await settleAsked(step.settle, live, { escalations, tx })
      if (step.withdraw !== undefined) await escalations.withdraw(live.id, step.withdraw, tx)
      const reopened = step.reopen === undefined ? undefined : await escalations.reopen(step.reopen, tx, live.id)
      const { escalation } = step
      const recorded = escalation && (await escalations.record(withDeadline(escalation, live, deps), tx))
      const number = recorded ?? reopened
      const parked = patch.parked && number !== undefined ? { parked: { ...patch.parked, number } } : {}
      live.row = { ...live.row, ...parked }
      if (step.task) await moveTask(live, deps, step.task, tx)
      await tx.append(step.events.map(event => withoutSecrets(withNumber(event, number), live)))
      const columns = { ...patch, ...parked }
      if (Object.keys(columns).length > 0) await deps.store.sessions.update(live.id, columns, tx)
      booked = await bookSpent(live, deps, tx, { all: patch.state === 'ended' })
      crashPoint('record.before-commit')
      return number
    })
  } catch (error) {
    booked?.undo()
    live.row = { ...live.row, ...undoPatch(patch, before) }
    throw error
  }
  if (booked) await stopWhenSpent(booked, live, deps)
  return stored
}

/** Only a stop can have closed the escalation before this: answers by number go through the terminals too. */
async function settleAsked(
  { number, answer }: NonNullable<SessionUpdate['settle']>,
  { settings: { secrets } }: LiveSession,
  { escalations, tx }: { escalations: HumanEscalations; tx: Tx },
): Promise<void> {
  try {
    await escalations.settle(number, redactValues(answer, secrets), tx)
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'escalation_withdrawn')) throw error
  }
}

/** Moves the session's task. One that was cancelled meanwhile, or taken away for a new attempt, stays as it is. */
async function moveTask(
  { row: { task_id }, agent: { attempt }, settings: { secrets } }: LiveSession,
  { store, tasks }: SessionDeps,
  move: Move,
  tx: Tx,
): Promise<void> {
  const task = task_id === null ? undefined : await store.tasks.get(task_id, tx)
  const isOurs = attempt === undefined || task?.attempt === attempt
  if (task?.state === 'running' && isOurs) await tasks.transition(task.id, redactValues(move, secrets), tx)
}

/** An agent may print its own key, so the session's secrets are removed from stored events, as they are from the log. */
function withoutSecrets(event: NewEvent, { settings: { secrets } }: LiveSession): NewEvent {
  return { ...event, body: redactValues(event.body, secrets) } as NewEvent
}

/** The escalation without secrets, because people read it, and with its deadline where the settings give it one. */
function withDeadline(
  escalation: NewEscalation,
  { settings: { brainSettings, secrets } }: LiveSession,
  { clock }: SessionDeps,
): NewEscalation {
  const standard =
    escalation.state === 'open' ? computeDeadline(escalation.kind, brainSettings.deadlines, clock.now()) : undefined
  const chosen = standard?.deadline == null ? {} : standard
  return { ...standard, ...redactValues(escalation, secrets), ...chosen }
}

/** An event about an ask carries the number by which it is answered. */
function withNumber(event: NewEvent, number: number | undefined): NewEvent {
  if (number === undefined) return event
  switch (event.kind) {
    case 'question.asked':
      return { ...event, body: { ...event.body, number } }
    case 'question.parked':
      return { ...event, body: { ...event.body, number } }
    case 'permission.asked':
      return { ...event, body: { ...event.body, number } }
    case 'permission.parked':
      return { ...event, body: { ...event.body, number } }
    default:
      return event
  }
}

/** A parked question is stored unredacted: its answer is matched to it by its text. */
function patchWithoutSecrets(patch: Partial<SessionRow>, { settings: { secrets } }: LiveSession): Partial<SessionRow> {
  const { parked, ...plain } = patch
  return { ...redactValues(plain, secrets), ...(parked !== undefined && { parked }) }
}

/** The old values of the changed columns, to restore if they could not be stored. */
function undoPatch(patch: Partial<SessionRow>, before: SessionRow): Partial<SessionRow> {
  const names = Object.keys(patch) as (keyof SessionRow)[]
  return Object.fromEntries(names.map(name => [name, before[name]]))
}
