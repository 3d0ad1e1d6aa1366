import type { PastAttempt } from '../../domain/runs/past-attempt.ts'
import type { RunOptions, RunState, RunTarget } from '../../domain/runs/run.ts'
import type { RunOutcome } from '../../domain/runs/run-outcome.ts'
import type { FailureKind } from '../../domain/session.ts'

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
  /** How often what it called done was verified. */
  rounds: number
}
