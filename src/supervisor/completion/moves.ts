import { crashPoint } from '../../base/crash-point.ts'
import type { NewEscalation } from '../../domain/escalation.ts'
import type { EventBody, NewEvent } from '../../domain/event.ts'
import type { Concerns } from '../../domain/evidence.ts'
import type { Verification } from '../../domain/task.ts'
import { openEscalations } from '../../human/escalations.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { SupervisorContext } from '../context.ts'
import { describeRefusals, findRefusals } from '../session/allow-once.ts'
import type { FinishedWork } from './work.ts'

/** Why work goes back to its agent. */
type ReturnCause = EventBody<'task.returned'>['cause']

interface ReturnReport {
  cause: ReturnCause
  /** The reason for the person, in one line. */
  reason: string
  /** The report for the agent. */
  report: string
  /** The git tree that did not pass. */
  tree?: string | null
  /** The task was done already, and is begun again. */
  isDone?: boolean
}

/**
 * Sends work back into the conversation that did it: the report and the time are written to the session's row, and the session
 * resumes like any that waits for a time: not on a closed account, not on a full disk, not while a person has paused its run.
 */
export async function sendBack(
  work: FinishedWork,
  { cause, reason, report, tree = null, isDone = false }: ReturnReport,
  { deps }: SupervisorContext,
  tx: Tx,
): Promise<void> {
  const { store, tasks, clock, accounts } = deps
  const { task, session, progress } = work
  const now = clock.now()
  // Gates take long: a person may have paused the run since they began.
  const isPaused = task.run_id !== null && (await store.runs.get(task.run_id, tx))?.state === 'paused'
  const { open } = await accounts.admits({ row: session })
  await tasks.transition(
    task.id,
    { to: 'waiting', reason, attempt: task.attempt, forced: isDone, ...(!isPaused && { wakesAt: now }) },
    tx,
  )
  const counted =
    cause === 'gates'
      ? { failed: progress.failed + 1 }
      : cause === 'conflict'
        ? { conflicts: progress.conflicts + 1 }
        : {}
  const returned = {
    ...{ accepted: undefined, returned: (progress.returned ?? 0) + 1 },
    returned_tree: tree ?? undefined,
  }
  const patch: Partial<SessionRow> = {
    ...{ ended_as: 'paused', status_reason: reason, ended_at: now, resumes_at: isPaused ? null : now },
    // Another try needs nobody's consent, unless the account is closed: then the session waits as its person chose.
    retries: open ? 1 : 0,
    options: { ...session.options, landing: { ...progress, ...counted, ...returned, told: report } },
  }
  await store.sessions.update(session.id, patch, tx)
  await openEscalations(deps).withdraw(session.id, 'the work goes back to its agent', tx)
  const body = { task_id: task.id, title: task.title, attempt: task.attempt, cause, reason }
  await tx.append([{ actor: 'daemon', subject: session.id, kind: 'task.returned', body }])
  crashPoint('landing.before-return')
}

/** Ends the attempt: a run tries the task again with the story, or fails it after enough attempts; without a run the task has failed. */
export async function refuseWork(
  work: FinishedWork,
  reason: string,
  supervisor: SupervisorContext,
  tx: Tx,
): Promise<void> {
  const { task, session, run } = work
  if (run && (await waitForRefused(work, { reason, times: 2 }, supervisor, tx))) return
  const move = run ? ({ to: 'ready', retry: true } as const) : ({ to: 'failed', verification: 'failed' } as const)
  await supervisor.deps.tasks.transition(task.id, { ...move, reason, attempt: task.attempt }, tx)
  await endSessionAs(session, { status: 'error', reason }, supervisor, tx)
}

/**
 * Lets work wait in its conversation if the same request was refused in so many attempts: only a person can allow it, and the next
 * attempt would be refused again. Returns whether it waits.
 */
export async function waitForRefused(
  { task, session }: FinishedWork,
  { reason, times }: { reason: string; times: number },
  { deps }: SupervisorContext,
  tx: Tx,
): Promise<boolean> {
  const { store, clock } = deps
  const refused = await findRefusals({ id: session.id, task_id: task.id }, store)
  const attempts = await store.escalations.sessionsOf(
    refused.map(({ number }) => number),
    tx,
  )
  const repeated = refused.filter(row => attempts.filter(({ number }) => number === row.number).length >= times)
  if (repeated.length === 0) return false
  const why = `${describeRefusals(repeated)}; ${reason}`
  await deps.tasks.transition(task.id, { to: 'waiting', reason: why, attempt: task.attempt }, tx)
  const { options } = (await store.sessions.get(session.id, tx)) ?? session
  const ended = { ended_as: 'paused', status_reason: why, ended_at: clock.now(), resumes_at: null } as const
  await store.sessions.update(session.id, { ...ended, options: { ...options, refused: repeated[0]?.number } }, tx)
  await tx.append([
    { actor: 'daemon', subject: session.id, kind: 'session.ended', body: { status: 'paused', reason: why } },
  ])
  return true
}

/** Gives a session another end than the one that its agent reported. */
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

/** The work passed its checks, or was not to be checked. */
export async function finishTask(
  { task }: Pick<FinishedWork, 'task'>,
  { verification, reason }: { verification: Verification; reason?: string | undefined },
  { deps }: SupervisorContext,
  tx: Tx,
): Promise<void> {
  await deps.tasks.transition(task.id, { to: 'done', verification, reason, attempt: task.attempt }, tx)
}

/** The tool name of the escalations that completion opens when it is in trouble. */
export const TROUBLE_TOOL = 'landing'

/** Asks a person, because work never passes when a check could not run. "Yes" checks it again, "no" gives the task up. */
export async function askPerson(work: FinishedWork, why: string, { deps }: SupervisorContext, tx: Tx): Promise<void> {
  const { task, session, progress } = work
  // The work is verified again after the person's answer: their changes have to pass the checks as well.
  if (task.state === 'merging')
    await deps.tasks.transition(task.id, { to: 'verifying', reason: why, attempt: task.attempt }, tx)
  await openEscalations(deps).record(
    newEscalation(work, {
      ...{ kind: 'error', tool: TROUBLE_TOOL, target: `${task.id} ${task.title}`, reason: why },
      input: { task: task.id, attempt: task.attempt, about: troubleOf(work), ...describeWorktree(work) },
      normalised: `landing ${task.id} ${task.attempt} ${progress.verified} ${deps.clock.now()}`,
    }),
    tx,
  )
  await tx.append([noteEvent(session.id, `A person has to look at ${task.id}: ${why}`)])
}

/** What a person has to look at: the gates, or the merge. */
function troubleOf({ task, progress }: FinishedWork): 'gate' | 'merge' {
  return task.state === 'merging' || progress.conflicts > 0 ? 'merge' : 'gate'
}

/** Asks a person to review work before it is merged. */
export async function askReview(work: FinishedWork, merge: number, { deps }: SupervisorContext, tx: Tx): Promise<void> {
  const { task, worktree } = work
  await openEscalations(deps).record(
    newEscalation(work, {
      ...{ kind: 'review', tool: 'review', target: `${task.id} ${task.title}` },
      reason: `Its checks passed; look at it before it is merged into ${worktree?.target ?? 'its target'}: pcc review ${task.id}`,
      input: { task: task.id, attempt: task.attempt, merge, ...describeWorktree(work) },
      normalised: `review ${task.id} ${merge} ${deps.clock.now()}`,
    }),
    tx,
  )
}

/** Asks a person to accept work that passed its gates but is not proven by them. It is not merged before they answer. */
export async function askAcceptance(
  work: FinishedWork,
  { concerns, why, untilChecked, untilAllowed, fix }: Concerns,
  { deps }: SupervisorContext,
  tx: Tx,
): Promise<void> {
  const { task, session, progress } = work
  const { verified: round, returned = 0 } = progress
  const reason = `waits for you (pcc review ${task.id}): ${why.split('. ')[0]}`
  if (task.state === 'merging')
    await deps.tasks.transition(task.id, { to: 'verifying', reason, attempt: task.attempt }, tx)
  else await deps.store.tasks.swap(task, { reason }, tx)
  await openEscalations(deps).record(
    newEscalation(work, {
      ...{ kind: 'review', tool: ACCEPTANCE_TOOL, target: `${task.id} ${task.title}`, reason: why },
      input: {
        task: task.id,
        attempt: task.attempt,
        round,
        returned,
        concerns,
        untilChecked,
        ...(untilAllowed !== undefined && { untilAllowed }),
        ...(fix !== undefined && { fix }),
        ...describeWorktree(work),
      },
      normalised: `accept ${task.id} ${task.attempt} ${round}`,
    }),
    tx,
  )
  await tx.append([noteEvent(session.id, `${task.id} is not done yet: ${why}`)])
}

/** The tool name of the questions whether unproven work is accepted. */
export const ACCEPTANCE_TOOL = 'accept'

type EscalationFields = Pick<NewEscalation, 'kind' | 'tool' | 'target' | 'reason' | 'input' | 'normalised'>

function newEscalation({ task, session: { id, project } }: FinishedWork, fields: EscalationFields): NewEscalation {
  return {
    ...fields,
    session_id: id,
    project,
    task: task.description,
    task_id: task.id,
    call_id: '',
    risk: 'LOW',
    reasons: [],
    state: 'open',
  }
}

function describeWorktree({ worktree }: FinishedWork): Record<string, string> {
  if (!worktree) return {}
  const { directory, branch, target } = worktree
  return { directory, branch, target }
}

function noteEvent(subject: string, text: string): NewEvent {
  return { actor: 'daemon', subject, kind: 'session.noted', body: { text } }
}
