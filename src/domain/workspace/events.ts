import * as z from 'zod'
import { GateStatus } from './evidence.ts'

const OfTask = z.object({ task_id: z.string(), title: z.string(), attempt: z.number() })

/** Bodies of the events about worktrees, gates and merges; the subject is the task's session, where it has one. */
export const WORKSPACE_EVENTS = {
  /** What its agent called done was looked at. */
  'task.verified': OfTask.extend({
    round: z.number(),
    status: z.enum(['passed', 'failed', 'broken']),
    checks: z.array(z.object({ gate: z.string(), status: GateStatus, cached: z.boolean(), duration_ms: z.number() })),
    /** The first of what stands in the way. */
    problem: z.string().optional(),
    commit: z.string().optional(),
  }),
  /** It went back into the conversation that did it. */
  'task.returned': OfTask.extend({ cause: z.enum(['gates', 'conflict', 'review']), reason: z.string() }),
  /** A task's work is in its target. */
  'merge.landed': z.object({ task: z.string(), target: z.string(), commit: z.string() }),
  /** It cannot be merged now: a person has to do something, and then it goes on by itself. */
  'merge.held_up': z.object({ task: z.string(), target: z.string(), reason: z.string() }),
} as const
