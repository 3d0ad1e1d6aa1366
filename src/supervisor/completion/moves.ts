import { crashPoint } from '../../base/crash-point.ts'
import type { NewEscalation } from '../../domain/escalation.ts'
import type { EventBody, NewEvent } from '../../domain/event.ts'
import type { Verification } from '../../domain/task.ts'
import { openEscalations } from '../../human/escalations.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { SupervisorContext } from '../context.ts'
import type { FinishedWork } from './work.ts'

/** What a return is for. */
type ReturnCause = EventBody<'task.returned'>['cause']

interface SendBack {
  cause: ReturnCause
  /** For the person, in a line. */
  reason: string
  /** For the agent. */
  told: string
}

/**
 * The work goes back into the conversation that did it: the report and the time stand in the session's row, and the session goes on
 * like any that waits for a time: not on an account that is shut, not on a full disk, not while a person has paused its run.
 */
export async function sendBack(
  work: FinishedWork,
  { cause, reason, told }: SendBack,
  { deps }: SupervisorContext,
  tx: Tx,
): Promise<void> {
  const { store, tasks, clock, accounts } = deps
  const { task, session, note } = work
  const now = clock.now()
  // Gates take long: a person may have paused its run since they began.
  const isPaused = task.run_id !== null && (await store.runs.get(task.run_id, tx))?.state === 'paused'
  const { open } = await accounts.admits({ row: session })
  await tasks.transition(
    task.id,
    { to: 'waiting', reason, attempt: task.attempt, ...(!isPaused && { wakesAt: now }) },
    tx,
  )
  const counted =
    cause === 'gates' ? { failed: note.failed + 1 } : cause === 'conflict' ? { conflicts: note.conflicts + 1 } : {}
  const patch: Partial<SessionRow> = {
    ...{ ended_as: 'paused', status_reason: reason, ended_at: now, resumes_at: isPaused ? null : now },
    // A try more is nothing that anybody has to agree to, unless its account is shut: then it waits as its person said.
    retries: open ? 1 : 0,
    options: { ...session.options, landing: { ...note, ...counted, told } },
  }
  await store.sessions.update(session.id, patch, tx)
  await openEscalations(deps).withdraw(session.id, 'the work goes back to its agent', tx)
  const body = { task_id: task.id, title: task.title, attempt: task.attempt, cause, reason }
  await tx.append([{ actor: 'daemon', subject: session.id, kind: 'task.returned', body }])
  crashPoint('landing.before-return')
}

/** The attempt is over: a run tries it anew with the story, or says that it was tried often enough; without a run it has failed. */
export async function refuseWork(
  work: FinishedWork,
  reason: string,
  supervisor: SupervisorContext,
  tx: Tx,
): Promise<void> {
  const { task, session, run } = work
  const move = run ? ({ to: 'ready', retry: true } as const) : ({ to: 'failed', verification: 'failed' } as const)
  await supervisor.deps.tasks.transition(task.id, { ...move, reason, attempt: task.attempt }, tx)
  await endSessionAs(session, { status: 'error', reason }, supervisor, tx)
}

/** Its session is over in another way than its agent thought. */
export async function endSessionAs(
  session: SessionRow,
  { status, reason }: { status: 'error' | 'stopped'; reason: string },
  { deps }: SupervisorContext,
  tx: Tx,
): Promise<void> {
  const { store, clock } = deps
  const ended = { ended_as: status, status_reason: reason, ended_at: clock.now(), resumes_at: null }
  await store.sessions.update(session.id, ended, tx)
  await openEscalations(deps).withdraw(session.id, reason, tx)
  await tx.append([{ actor: 'daemon', subject: session.id, kind: 'session.ended', body: { status, reason } }])
}

/** It holds, or nobody was to look. */
export async function finishTask(
  { task }: Pick<FinishedWork, 'task'>,
  { verification, reason }: { verification: Verification; reason?: string | undefined },
  { deps }: SupervisorContext,
  tx: Tx,
): Promise<void> {
  await deps.tasks.transition(task.id, { to: 'done', verification, reason, attempt: task.attempt }, tx)
}

/** By this name landing knows what it has asked a person. */
export const TROUBLE_TOOL = 'landing'

/** A person has to look: nothing passes because something could not be looked at. Yes looks again, no gives the task up. */
export async function askPerson(work: FinishedWork, why: string, { deps }: SupervisorContext, tx: Tx): Promise<void> {
  const { task, session, note } = work
  // Its work is verified anew once a person says so: what they did to it is nobody's word either.
  if (task.state === 'merging')
    await deps.tasks.transition(task.id, { to: 'verifying', reason: why, attempt: task.attempt }, tx)
  await openEscalations(deps).record(
    rowOf(work, {
      ...{ kind: 'error', tool: TROUBLE_TOOL, target: `${task.id} ${task.title}`, reason: why },
      input: { task: task.id, attempt: task.attempt, ...placeOf(work) },
      normalised: `landing ${task.id} ${task.attempt} ${note.verified} ${deps.clock.now()}`,
    }),
    tx,
  )
  await tx.append([noted(session.id, `A person has to look at ${task.id}: ${why}`)])
}

/** Nothing is merged before a person has seen it. */
export async function askReview(work: FinishedWork, merge: number, { deps }: SupervisorContext, tx: Tx): Promise<void> {
  const { task, place } = work
  await openEscalations(deps).record(
    rowOf(work, {
      ...{ kind: 'review', tool: 'review', target: `${task.id} ${task.title}` },
      reason: `Its checks passed; look at it before it is merged into ${place?.target ?? 'its target'}: pcc review ${task.id}`,
      input: { task: task.id, attempt: task.attempt, merge, ...placeOf(work) },
      normalised: `review ${task.id} ${merge} ${deps.clock.now()}`,
    }),
    tx,
  )
}

type EscalationFields = Pick<NewEscalation, 'kind' | 'tool' | 'target' | 'reason' | 'input' | 'normalised'>

function rowOf({ task, session: { id, project } }: FinishedWork, deps: EscalationFields): NewEscalation {
  return {
    ...deps,
    session_id: id,
    project,
    task: task.description,
    call_id: '',
    risk: 'LOW',
    reasons: [],
    state: 'open',
  }
}

function placeOf({ place }: FinishedWork): Record<string, string> {
  return place ? { directory: place.directory, branch: place.branch, target: place.target } : {}
}

function noted(subject: string, text: string): NewEvent {
  return { actor: 'daemon', subject, kind: 'session.noted', body: { text } }
}
