import * as z from 'zod'

/** Bodies of the events about worktrees, gates and merges; the subject is the task's session, where it has one. */
export const WORKSPACE_EVENTS = {
  /** A task's work is in its target. */
  'merge.landed': z.object({ task: z.string(), target: z.string(), commit: z.string() }),
  /** It cannot be merged now: a person has to do something, and then it goes on by itself. */
  'merge.held_up': z.object({ task: z.string(), target: z.string(), reason: z.string() }),
} as const
