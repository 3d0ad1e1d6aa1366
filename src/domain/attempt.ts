import * as z from 'zod'
import type { FailureKind } from './session.ts'

/** One attempt at a task that was begun before, as the next one is judged by: oldest first, of a whole run or of one task. */
export interface PastAttempt {
  task_id: string
  /** The task's attempt. */
  number: number
  /** What it was begun with; null where the agent took its own. */
  model: string | null
  /** `interrupted` and null (it is still open) say nothing about the work. */
  outcome: 'done' | 'failed' | 'interrupted' | null
  /** Why it ended like that. */
  reason: string | null
  /** The agent's last words. */
  result: string | null
  /** What the agent said in `<next-model>`. */
  next_model: string | null
  /** What the vendor or the agent's program failed with, where that was the cause. */
  failure?: FailureKind | null | undefined
  /** It was done in the end, but not without trouble: a gate failed first, a guard stepped in. */
  troubled?: boolean | undefined
  /** What was seen to be wrong, verbatim. */
  evidence?: readonly AttemptEvidence[] | undefined
}

/** What a check saw. */
export interface AttemptEvidence {
  /** The check: a command, the name of a gate. */
  what: string
  text: string
}

/** One attempt at a task that is over, as the journal keeps it. */
export interface JournalEntry {
  run_id: string
  project: string
  /** Which attempt of its run it was, from 1. */
  iteration: number
  task_id: string
  /** The task's attempt. */
  number: number
  /** The task's title then: it may be deleted by now. */
  title: string
  feature: string | null
  session_id: string
  outcome: 'done' | 'failed' | 'interrupted'
  /** Why it ended like that, where there is something to say. */
  reason: string | null
  /** Who did it, one after the other; none where its session is not kept any more. */
  agents: string[]
  /** What answered; null where nothing did. */
  model: string | null
  /** From its beginning to its end, with what it waited for. */
  duration_ms: number
  cost_usd: number
  /** Files that it changed, the first of them; paths from the project. */
  files: string[]
  /** How many more. */
  files_more: number
  /** What the agent wrote down, or its last words. */
  notes: string | null
  started_at: number
  ended_at: number
}

/** GET /journal */
export interface JournalPage {
  /** Newest first, or with words the best match first. */
  entries: JournalEntry[]
  /** How many there are in all that fit. */
  total: number
}

/** How a run ended. */
export const RunOutcome = z.enum(['complete', 'failure', 'limit_reached', 'blocked', 'no_plan', 'interrupted'])
export type RunOutcome = z.infer<typeof RunOutcome>

/** What the command that started it exits with. */
export const RUN_EXITS: Record<RunOutcome, number> = {
  complete: 0,
  failure: 1,
  blocked: 3,
  no_plan: 3,
  limit_reached: 4,
  interrupted: 130,
}
