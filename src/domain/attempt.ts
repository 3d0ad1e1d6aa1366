import * as z from 'zod'
import type { FailureKind } from './session.ts'

/** An earlier attempt at a task, from which the next one is planned. Lists of these are oldest first, of a whole run or of one task. */
export interface PastAttempt {
  task_id: string
  /** The task's attempt. */
  number: number
  /** The model it was started with; null if the agent chose its own. */
  model: string | null
  /** `interrupted` and null (still open) say nothing about the work. */
  outcome: 'done' | 'failed' | 'interrupted' | null
  /** Why it ended so. */
  reason: string | null
  /** The agent's last message. */
  result: string | null
  /** The agent's request in `<next-model>`. */
  next_model: string | null
  /** The failure of the vendor or the agent's program, if that was the cause. */
  failure?: FailureKind | null | undefined
  /** Set if it was done in the end, but with trouble: a gate failed first, or a guard stepped in. */
  troubled?: boolean | undefined
  /** What was found to be wrong, verbatim. */
  evidence?: readonly AttemptEvidence[] | undefined
}

/** The result of a check. */
export interface AttemptEvidence {
  /** The check: a command, the name of a gate. */
  what: string
  text: string
}

/** An attempt that is over, as the journal stores it. */
export interface JournalEntry {
  run_id: string
  project: string
  /** The number of the attempt within its run, from 1. */
  iteration: number
  task_id: string
  /** The task's attempt. */
  number: number
  /** The task's title at that time; the task may be deleted by now. */
  title: string
  feature: string | null
  session_id: string
  outcome: 'done' | 'failed' | 'interrupted'
  /** Why it ended so, if there is something to say. */
  reason: string | null
  /** The agents that worked on it, in order; empty if its session is no longer stored. */
  agents: string[]
  /** The model that answered; null if none did. */
  model: string | null
  /** From start to end, waiting included. */
  duration_ms: number
  cost_usd: number
  /** The first of the files that it changed, relative to the project. */
  files: string[]
  /** How many more files it changed. */
  files_more: number
  /** The agent's notes, or its last message. */
  notes: string | null
  started_at: number
  ended_at: number
}

/** GET /journal */
export interface JournalPage {
  /** Newest first; with search words, the best match first. */
  entries: JournalEntry[]
  /** How many entries match in all. */
  total: number
}

/** How a run ended. */
export const RunOutcome = z.enum(['complete', 'failure', 'limit_reached', 'blocked', 'no_plan', 'interrupted'])
export type RunOutcome = z.infer<typeof RunOutcome>

/** The exit code of the command that started the run. */
export const RUN_EXITS: Record<RunOutcome, number> = {
  complete: 0,
  failure: 1,
  blocked: 3,
  no_plan: 3,
  limit_reached: 4,
  interrupted: 130,
}
