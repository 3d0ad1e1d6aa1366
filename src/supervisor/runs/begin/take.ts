import type { Clock } from '../../../base/clock.ts'
import { AppError } from '../../../base/errors.ts'
import type { Task } from '../../../domain/task.ts'
import type { RunRow } from '../../../store/runs/rows.ts'
import type { Store } from '../../../store/store.ts'
import type { Tasks } from '../../../tasks/open.ts'
import type { BoundTask } from '../../start/start-session.ts'
import { scopeOf } from '../scope.ts'

export interface TakeParts {
  store: Store
  tasks: Tasks
  clock: Clock
}

/** The claim, the attempt's row and the count of the run are one with the session's row. */
export function takeOf(
  task: Task,
  { run, model }: { run: RunRow; model: string | undefined },
  { store, tasks, clock }: TakeParts,
): BoundTask['take'] {
  return async (session, tx) => {
    const now = await store.runs.get(run.id, tx)
    // A person has said meanwhile that nothing more is to begin.
    if (now?.state !== 'running' || now.stopping) throw new AppError('task_moved', { ...task, session: session.id })
    const claim = { scope: scopeOf(run), run: run.id, session: session.id, only: task.id }
    const claimed = await tasks.claimReady(claim, tx)
    // Its place was made for this attempt.
    if (claimed?.attempt !== task.attempt + 1) throw new AppError('task_moved', { ...task, session: session.id })
    const iteration = run.iterations + 1
    await store.runs.update(run.id, { iterations: iteration }, tx)
    await store.runs.begin(
      {
        ...{ task_id: task.id, number: claimed.attempt, run_id: run.id, iteration, session_id: session.id },
        ...{ model: model ?? null, outcome: null, reason: null, result: null, next_model: null, failure: null },
        ...{ cost_usd: 0, started_at: clock.now(), ended_at: null, rounds: 0 },
      },
      tx,
    )
    return claimed
  }
}
