import type { FailureKind } from '../session.ts'

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
  evidence?: readonly Evidence[] | undefined
}

/** What a check saw. */
export interface Evidence {
  /** The check: a command, the name of a gate. */
  what: string
  text: string
}
