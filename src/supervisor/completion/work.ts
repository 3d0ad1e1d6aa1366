import { existsSync } from 'node:fs'
import { AppError } from '../../base/errors.ts'
import { type CompletionProgress, NO_COMPLETION_PROGRESS, UNPROVEN } from '../../domain/evidence.ts'
import type { Merge } from '../../domain/merge.ts'
import { isBegun, type Task, type TaskState } from '../../domain/task.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { RunRow, SessionRow } from '../../store/tables.ts'

/** Work that its agent has called done, and that is still to be verified and merged. */
export interface FinishedWork {
  task: Task
  session: SessionRow
  /** The worktree in which it was done; absent if it was done in the project itself. */
  worktree: Worktree | undefined
  run: RunRow | undefined
  progress: CompletionProgress
}

/** Whether finished work goes through completion: in a worktree, and in a run. Anywhere else the agent's word counts, unverified. */
export function needsCompletion({ options: { place: worktree, run } }: Pick<SessionRow, 'options'>): boolean {
  return worktree !== undefined || run !== undefined
}

/** Whether gates run for the work: not where its run was started with `--no-verify`, or the settings say no. */
export function needsVerification({ run }: Pick<FinishedWork, 'run'>, { verify }: { verify: boolean }): boolean {
  return run ? run.options.verify !== false : verify
}

/** The concerns that a person has accepted, for this work or by their settings. */
export function acceptedConcerns(
  { accepted = [] }: CompletionProgress,
  { allowsUnproven }: { allowsUnproven: boolean },
): readonly string[] {
  return allowsUnproven ? [...accepted, UNPROVEN] : accepted
}

/** The states of a task between the agent's "done" and its end. */
export const COMPLETION_STATES = ['verifying', 'merging'] as const satisfies readonly TaskState[]

/** Whether a task is between the agent's "done" and its end. */
export function isCompleting({ state }: Pick<Task, 'state'>): boolean {
  return state === 'verifying' || state === 'merging'
}

/** The work of a task that is completing; undefined if the task is in another state, or no session holds it any more. */
export async function findWork(id: string, store: Store, tx?: Tx): Promise<FinishedWork | undefined> {
  const task = await store.tasks.get(id, tx)
  if (!task || !isCompleting(task) || task.session_id === null) return undefined
  const session = await store.sessions.get(task.session_id, tx)
  if (!session) return undefined
  const { place: worktree, landing: progress = NO_COMPLETION_PROGRESS } = session.options
  const run = task.run_id === null ? undefined : await store.runs.get(task.run_id, tx)
  return { task, session, worktree, run, progress }
}

/**
 * The work of a task that is done, as the conversation that did it left it; or why it cannot go on there. Throws `task_unsettled` while
 * somebody is still at work on it.
 */
export async function findDoneWork(id: string, store: Store, tx: Tx): Promise<FinishedWork | { why: string }> {
  const task = await store.tasks.get(id, tx)
  if (!task) return { why: `there is no task ${id}` }
  if (isBegun(task)) throw new AppError('task_unsettled', { what: `${id} is ${task.state}` })
  if (task.state !== 'done') return { why: `${id} is ${task.state}, not done` }
  const session = task.session_id === null ? undefined : await store.sessions.get(task.session_id, tx)
  if (!session || session.vendor_id === null) return { why: `the conversation of ${id} is gone` }
  const isOwn = session.task_id === id
  if (isOwn && session.state !== 'ended')
    throw new AppError('task_unsettled', { what: `${session.id} is not over yet` })
  const isFree = isOwn && session.ended_as === 'completed'
  if (!isFree) return { why: `${session.id}, which did ${id}, is busy with something else` }
  const { place: worktree, landing: progress = NO_COMPLETION_PROGRESS } = session.options
  const run = task.run_id === null ? undefined : await store.runs.get(task.run_id, tx)
  return { task, session, worktree, run, progress }
}

/** The work that a merge is for; undefined if its task no longer waits for it, or has a newer attempt with another worktree. */
export async function findMergingWork(
  { task_id, attempt }: Merge,
  store: Store,
  tx?: Tx,
): Promise<FinishedWork | undefined> {
  const work = await findWork(task_id, store, tx)
  return work?.task.state === 'merging' && work.worktree?.attempt === attempt ? work : undefined
}

/**
 * Counts a verification in the session's row: the one with this number, or the next. The row is read in the transaction, because
 * others write to it too.
 */
export async function countRound(work: FinishedWork, store: Store, tx: Tx, round?: number): Promise<FinishedWork> {
  const session = (await store.sessions.get(work.session.id, tx)) ?? work.session
  const before = { ...work.progress, ...session.options.landing }
  const progress = { ...before, verified: round ?? before.verified + 1 }
  const options = { ...session.options, landing: progress }
  await store.sessions.update(session.id, { options }, tx)
  return { ...work, progress, session: { ...session, options } }
}

/** The task of a session, while it is completing. */
export async function findCompletingTask(session: string, store: Store, tx?: Tx): Promise<Task | undefined> {
  const task = await store.tasks.atWork(session, tx)
  return task && isCompleting(task) ? task : undefined
}

/** Tells a person where the work is, how to correct it, and what to do then. */
export function describeWorktree({ worktree, task }: FinishedWork): string {
  if (worktree && !existsSync(worktree.top))
    return `Restore its worktree with: pcc worktree restore ${task.id}, then say yes`
  return worktree
    ? `The work is in ${worktree.directory} on ${worktree.branch}: correct it there and commit, then say yes (or: pcc resume ${task.session_id})`
    : ''
}

/** The same if a rebase or merge stopped in the worktree: the person must not continue it, `pcc` does. */
export function describeConflict({ worktree, task }: FinishedWork): string {
  const where = worktree ? ` (${worktree.directory})` : ''
  return `Open its worktree: pcc worktree open ${task.id}${where}. Resolve the conflict there, git add each file, then: pcc merge retry ${task.id}`
}
