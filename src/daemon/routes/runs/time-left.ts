import type { TaskCounts } from '../../../domain/runs/run-view.ts'
import { OPEN_STATES } from '../../../domain/task.ts'
import type { AttemptRow, RunRow } from '../../../store/runs/rows.ts'
import type { Store } from '../../../store/store.ts'

/** Earlier runs that are looked at while this one has nothing to tell. */
const EARLIER = 3

/** What a run has before it, in time: its open tasks by what tasks of it, or of earlier runs of the project, took. */
export async function timeLeft(
  run: Pick<RunRow, 'id' | 'project'>,
  { attempts, tasks }: { attempts: AttemptRow[]; tasks: TaskCounts },
  { runs }: Pick<Store, 'runs'>,
): Promise<number | null> {
  const own = durationsOf(attempts)
  if (own.length > 0) return estimate(own, tasks)
  const earlier = (await runs.list({ project: run.project })).filter(({ id }) => id !== run.id).slice(0, EARLIER)
  const theirs = await Promise.all(earlier.map(({ id }) => runs.attempts({ run: id })))
  return estimate(durationsOf(theirs.flat()), tasks)
}

/** The middle one counts: a task that waited for a night says nothing of the next. */
export function estimate(durations: readonly number[], tasks: TaskCounts): number | null {
  const middle = durations.toSorted((a, b) => a - b)[Math.floor(durations.length / 2)]
  return middle === undefined ? null : middle * OPEN_STATES.reduce((sum, state) => sum + (tasks[state] ?? 0), 0)
}

function durationsOf(attempts: readonly AttemptRow[]): number[] {
  return attempts.flatMap(({ outcome, started_at, ended_at }) =>
    outcome === 'done' && ended_at !== null ? [ended_at - started_at] : [],
  )
}
