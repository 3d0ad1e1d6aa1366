import * as z from 'zod'
import type { FailureKind } from './session.ts'

/** How an attempt at a task ended. */
export const AttemptOutcome = z.enum(['done', 'failed', 'interrupted'])
export type AttemptOutcome = z.infer<typeof AttemptOutcome>

/** An earlier attempt at a task, from which the next one is planned. Lists of these are oldest first, of a whole run or of one task. */
export interface PastAttempt {
  task_id: string
  /** The task's attempt. */
  number: number
  /** The model it was started with; null if the agent chose its own. */
  model: string | null
  /** `interrupted` and null (still open) say nothing about the work. */
  outcome: AttemptOutcome | null
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
export const JournalEntry = z.object({
  run_id: z.string(),
  project: z.string(),
  /** The number of the attempt within its run, from 1. */
  iteration: z.number(),
  task_id: z.string(),
  /** The task's attempt. */
  number: z.number(),
  /** The task's title at that time; the task may be deleted by now. */
  title: z.string(),
  feature: z.string().nullable(),
  session_id: z.string(),
  outcome: AttemptOutcome,
  /** Why it ended so, if there is something to say. */
  reason: z.string().nullable(),
  /** The agents that worked on it, in order; empty if its session is no longer stored. */
  agents: z.array(z.string()),
  /** The model that answered; null if none did. */
  model: z.string().nullable(),
  /** From start to end, waiting included. */
  duration_ms: z.number(),
  cost_usd: z.number(),
  /** The first of the files that it changed, relative to the project. */
  files: z.array(z.string()),
  /** How many more files it changed. */
  files_more: z.number(),
  /** The agent's notes, or its last message. */
  notes: z.string().nullable(),
  started_at: z.number(),
  ended_at: z.number(),
})
export type JournalEntry = z.infer<typeof JournalEntry>

/** GET /journal */
export const JournalPage = z.object({
  /** Newest first; with search words, the best match first. */
  entries: z.array(JournalEntry),
  /** How many entries match in all. */
  total: z.number(),
})
export type JournalPage = z.infer<typeof JournalPage>

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
