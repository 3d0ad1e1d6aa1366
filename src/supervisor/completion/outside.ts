import { AppError } from '../../base/errors.ts'
import { NO_COMPLETION_PROGRESS } from '../../domain/evidence.ts'
import { type Merge, OPEN_MERGES } from '../../domain/merge.ts'
import { isBegun, type Task } from '../../domain/task.ts'
import type { Tx } from '../../store/store.ts'
import { changeMergeIn } from '../../workspace/merge/merge-state.ts'
import type { SupervisorContext } from '../context.ts'
import { sendBack } from './moves.ts'
import { findDoneWork } from './work.ts'

/** What somebody outside found in work that is done, such as the reviewer of its pull request. */
export interface OutsideReport {
  /** For the person, in one line. */
  reason: string
  /** For the agent. */
  report: string
  /** How often the work of a task goes back, at most. */
  most: number
}

/**
 * Sends work that is done back into the conversation that did it, because of what happened outside. Returns why that is not
 * possible; throws `task_unsettled` where it will be. It is done in the caller's transaction, with the record of the message that asks for it, so it is done once.
 */
export async function returnDone(
  id: string,
  { reason, report, most }: OutsideReport,
  supervisor: SupervisorContext,
  tx: Tx,
): Promise<string | undefined> {
  const { store } = supervisor.deps
  const work = await findDoneWork(id, store, tx)
  if ('why' in work) return work.why
  const { session, worktree, task, progress } = work
  const row = worktree && (await store.worktrees.get({ task: id, attempt: worktree.attempt }, tx))
  if (row?.state !== 'live') return `the worktree of ${id} is gone`
  if (supervisor.sessions.get(session.id))
    throw new AppError('task_unsettled', { what: `${session.id} is not over yet` })
  const merges = await store.merges.list({ task: id, limit: 1 }, tx)
  if (merges.at(-1)?.state === 'merged' || progress.landed !== undefined) return `the work of ${id} is merged already`
  if ((progress.outside ?? 0) >= most)
    return `the work of ${id} went back ${most} times already; look at it: pcc task show ${id}`
  const counted = { ...work, progress: { ...progress, failed: 0, outside: (progress.outside ?? 0) + 1 } }
  await sendBack({ ...counted, task }, { cause: 'review', reason, report, isDone: true }, supervisor, tx)
  return undefined
}

/** What was merged outside. */
export interface LandedOutside {
  branch: string
  commit: string
}

/**
 * Records that a task's work was merged outside, for instance by the button of its pull request: the task is done, whatever its state,
 * unless its state follows that of its parts. Returns the tasks that somebody was at work on and the merge to clean up after.
 */
export async function landOutside(
  id: string,
  { branch, commit }: LandedOutside,
  { deps }: SupervisorContext,
  tx: Tx,
): Promise<{ held: Task[]; hasParts: boolean; merge: Merge | undefined }> {
  const { store, tasks } = deps
  const task = await store.tasks.get(id, tx)
  if (!task) throw new AppError('task_not_there', { ref: id })
  const newest = (await store.merges.list({ task: id }, tx)).filter(merge => merge.branch === branch).at(-1)
  const hasParts = task.children > 0
  const held = isBegun(task) && !hasParts ? [task] : []
  if (task.state !== 'done' && !hasParts) {
    const reason = `its pull request was merged as ${commit.slice(0, 10)}`
    await tasks.transition(id, { to: 'done', forced: true, anew: isBegun(task), reason }, tx)
  }
  const session = task.session_id === null ? undefined : await store.sessions.get(task.session_id, tx)
  if (session) {
    const landing = { ...NO_COMPLETION_PROGRESS, ...session.options.landing, landed: commit }
    // One that was about to go on with this task of its run has nothing left to do.
    const isParked = session.state === 'ended' && session.options.run !== undefined && session.task_id === id
    const ended = isParked ? { ended_as: 'completed' as const, status_reason: null, resumes_at: null } : {}
    await store.sessions.update(session.id, { ...ended, options: { ...session.options, landing } }, tx)
  }
  const isOpen = newest !== undefined && (OPEN_MERGES as readonly string[]).includes(newest.state)
  // A merge that the queue works on is left to it: it finds its task done.
  if (!newest || newest.state === 'merged' || isOpen) return { held, hasParts, merge: undefined }
  const merge = await changeMergeIn(newest, { state: 'merged', result: commit, reason: null }, deps, tx)
  const body = { task: id, target: newest.target, commit }
  if (merge) await tx.append([{ actor: 'daemon', subject: id, kind: 'merge.landed', body }])
  return { held, hasParts, merge }
}
