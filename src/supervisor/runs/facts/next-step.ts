import type { RunOutcome } from '../../../domain/runs/run-outcome.ts'
import type { TaskState } from '../../../domain/task.ts'

/** What is known of a run when it is looked at. */
export interface RunFacts {
  /** Tasks of its target, by state. */
  counts: Partial<Record<TaskState, number>>
  /** Its sessions that use a place, or will go on by themselves. */
  working: number
  /** Its sessions that wait for a person. */
  waiting: number
  /** Attempts that it has begun. */
  iterations: number
  /** Most attempts. */
  limit: number | undefined
  /** Tasks at once. */
  parallel: number
  /** Why its agents work in the project itself, and therefore one at a time. */
  inPlace?: string | undefined
  /** The bound of its budget that is reached, or of its account without leave to wait for the reset, in words. */
  spent?: string | undefined
  /** No new task begins: a person wants it to end after what is at work, or to stand still. */
  stopping: 'after current' | 'paused' | undefined
  /** The agent said that the whole is beyond it. */
  gaveUp: string | undefined
}

export type RunStep =
  /** A task that is ready may be begun. */
  { do: 'begin' } | { do: 'wait' } | { do: 'end'; outcome: RunOutcome; reason: string }

/** What a run does next. Pure: who claims what is found out by who begins. */
export function nextStep(facts: RunFacts): RunStep {
  const { working, waiting, iterations, limit, parallel, stopping, gaveUp, spent } = facts
  const isCapped = limit !== undefined && iterations >= limit
  const mayBegin = gaveUp === undefined && stopping === undefined && spent === undefined && !isCapped
  if (mayBegin && working < parallel && ready(facts) > 0) {
    return { do: 'begin' }
  }
  if (working > 0 || stopping === 'paused') return { do: 'wait' }
  if (gaveUp !== undefined) return { do: 'end', outcome: 'failure', reason: gaveUp }
  if (stopping === 'after current') return { do: 'end', outcome: 'interrupted', reason: 'stopped by a person' }
  if (isCapped && ready(facts) > 0) {
    return {
      do: 'end',
      outcome: 'limit_reached',
      reason: `${limit} ${limit === 1 ? 'attempt was' : 'attempts were'} made`,
    }
  }
  if (spent !== undefined && ready(facts) + waiting > 0) return { do: 'end', outcome: 'limit_reached', reason: spent }
  return waiting > 0 ? { do: 'wait' } : over(facts)
}

function over({ counts }: RunFacts): RunStep {
  const of = (state: TaskState) => counts[state] ?? 0
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0)
  if (all === of('cancelled')) return { do: 'end', outcome: 'no_plan', reason: 'it has no tasks' }
  if (all === of('done') + of('cancelled')) return { do: 'end', outcome: 'complete', reason: 'every task is done' }
  if (of('failed') > 0) return { do: 'end', outcome: 'failure', reason: `${counted(of('failed'))} failed` }
  return { do: 'end', outcome: 'blocked', reason: `${counted(all - of('done') - of('cancelled'))} cannot run` }
}

function ready({ counts }: RunFacts): number {
  return counts.ready ?? 0
}

function counted(tasks: number): string {
  return tasks === 1 ? '1 task' : `${tasks} tasks`
}
