import { type CompletionProgress, NO_COMPLETION_PROGRESS } from '../../domain/evidence.ts'
import type { Task, TaskState } from '../../domain/task.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { RunRow, SessionRow } from '../../store/tables.ts'

/** Work that its agent has called done, and that is to be proven and to reach its target. */
export interface FinishedWork {
  task: Task
  session: SessionRow
  /** Absent where it was done in the project itself. */
  place: Worktree | undefined
  run: RunRow | undefined
  note: CompletionProgress
}

/** Whether what an agent calls done is looked at before it is: in a worktree, and in a run. Else its word counts, unverified. */
export function needsCompletion({ options: { place, run } }: Pick<SessionRow, 'options'>): boolean {
  return place !== undefined || run !== undefined
}

/** Whether gates are to run for it: not where its run was started with `--no-verify`. */
export function needsVerification({ run }: Pick<FinishedWork, 'run'>): boolean {
  return run?.options.verify !== false
}

/** The states of a task between its agent's word and its end. */
export const COMPLETION_STATES = ['verifying', 'merging'] as const satisfies readonly TaskState[]

/** Whether a task is between its agent's word and its end. */
export function isCompleting({ state }: Pick<Task, 'state'>): boolean {
  return state === 'verifying' || state === 'merging'
}

/** The work of a task that is to land; nothing where it is not, or where nobody holds it any more. */
export async function findWork(id: string, store: Store, tx?: Tx): Promise<FinishedWork | undefined> {
  const task = await store.tasks.get(id, tx)
  if (!task || !isCompleting(task) || task.session_id === null) return undefined
  const session = await store.sessions.get(task.session_id, tx)
  if (!session) return undefined
  const { place, landing = NO_COMPLETION_PROGRESS } = session.options
  const run = task.run_id === null ? undefined : await store.runs.get(task.run_id, tx)
  return { task, session, place, run, note: landing }
}

/** The task of a session that is to land. */
export async function findCompletingTask(session: string, store: Store, tx?: Tx): Promise<Task | undefined> {
  const task = await store.tasks.atWork(session, tx)
  return task && isCompleting(task) ? task : undefined
}

/** A person who puts it right needs to know where, and what then. */
export function worktreeWords({ place, task }: FinishedWork): string {
  return place
    ? `Its work lies in ${place.directory} on ${place.branch}: put it right there and commit, then say yes (or: pcc resume ${task.session_id})`
    : ''
}

/** The same where a rebase or merge stands still there: nobody but us goes on with it. */
export function resolveWords({ place, task }: FinishedWork): string {
  const where = place ? ` (${place.directory})` : ''
  return `Its worktree stands ready: pcc worktree open ${task.id}${where}. Resolve it there, git add each file, then: pcc merge retry ${task.id}`
}
