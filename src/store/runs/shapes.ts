import type { PastAttempt } from '../../domain/past-attempt.ts'
import type { RunOptions, RunState, RunTarget } from '../../domain/runs/run.ts'
import type { RunOutcome } from '../../domain/runs/run-outcome.ts'
import type { FailureKind } from '../../domain/session.ts'
import type { Tx } from '../store.ts'

/** A run as the rest of the program sees it. */
export interface RunRow {
  id: string
  project: string
  target: RunTarget
  options: RunOptions
  state: RunState
  outcome: RunOutcome | null
  reason: string | null
  /** What the agent said when it gave the whole up. */
  gave_up: string | null
  /** A person wants it to end after what is at work. */
  stopping: boolean
  /** Attempts that it has begun. */
  iterations: number
  created_at: number
  ended_at: number | null
}

export type RunsTable = Omit<RunRow, 'target' | 'options' | 'stopping'> & {
  target: string
  options: string
  stopping: number
}

/** One try at a task within a run. Open while it has no outcome. */
export interface AttemptRow extends Omit<PastAttempt, 'failure' | 'troubled' | 'evidence'> {
  run_id: string
  iteration: number
  session_id: string
  failure: FailureKind | null
  cost_usd: number
  started_at: number
  ended_at: number | null
}

/** Loops that drain a target, and the attempts they made. */
export interface Runs {
  insert(row: RunRow, tx: Tx): Promise<void>
  update(id: string, patch: Partial<RunRow>, tx?: Tx): Promise<void>
  get(id: string, tx?: Tx): Promise<RunRow | undefined>
  /** Newest first. */
  list(filter?: { project?: string | undefined; open?: boolean }, tx?: Tx): Promise<RunRow[]>
  /** By id or the beginning of one that fits only one run. Throws `run_unknown`, `run_ambiguous`. */
  resolve(ref: string): Promise<RunRow>
  begin(attempt: AttemptRow, tx: Tx): Promise<void>
  /** Closes an attempt that is open; false where it is not. */
  end(attempt: Pick<AttemptRow, 'task_id' | 'number'>, patch: Partial<AttemptRow>, tx: Tx): Promise<boolean>
  /** In the order in which they were begun. */
  attempts(of: { run?: string; task?: string; session?: string }, tx?: Tx): Promise<AttemptRow[]>
}
