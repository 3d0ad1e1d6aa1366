import { AppError } from '../../base/errors.ts'
import { type Caller, mayReach } from '../../domain/access.ts'
import type { Escalation } from '../../domain/escalation.ts'
import type { Merge } from '../../domain/merge.ts'
import type { Task } from '../../domain/task.ts'
import type { RunRow, SessionRow } from '../../store/tables.ts'
import { type DaemonContext, getEscalations, getTasks } from '../context.ts'
import { findRun } from '../routes/runs.ts'
import { findSession } from '../routes/sessions.ts'
import { findMerge } from '../routes/workspace.ts'

/** Finds what a path names, for this caller: a key that is for one project does not learn that there is something in another. */
export function openReach(daemon: DaemonContext) {
  return {
    task: (ref: string, caller: Caller): Promise<Task> =>
      within(caller, new AppError('task_not_there', { ref }), () =>
        getTasks(daemon).find(ref, undefined, caller.project ?? undefined),
      ),
    run: (ref: string, caller: Caller): Promise<RunRow> =>
      within(caller, new AppError('run_unknown', { ref }), () => findRun({ ref }, daemon)),
    session: (ref: string, caller: Caller): Promise<SessionRow> =>
      within(caller, new AppError('session_unknown', { ref }), () => findSession({ ref }, daemon)),
    merge: (ref: string, caller: Caller): Promise<Merge> =>
      within(caller, new AppError('merge_unknown', { ref }), () => findMerge(ref, daemon)),
    escalation: (number: string, caller: Caller): Promise<Escalation> =>
      within(caller, new AppError('escalation_unknown', { number }), () => getEscalations(daemon).get(Number(number))),
  }
}

export type ReachableThings = ReturnType<typeof openReach>

async function within<Thing extends { project: string }>(
  caller: Caller,
  unknown: AppError,
  find: () => Promise<Thing>,
): Promise<Thing> {
  if (caller.project === null) return find()
  const found = await find().catch((error: unknown) => {
    // What an error says of a wrong or ambiguous name may be about other projects.
    if (error instanceof AppError && error.http < 500) throw unknown
    throw error
  })
  if (!mayReach(caller, found.project)) throw unknown
  return found
}
