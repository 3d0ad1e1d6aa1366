import * as z from 'zod'
import { TaskState } from './task.ts'

/** The version in every checkpoint. A checkpoint of a higher version is left alone, because this program would lose what it does not know. */
export const CHECKPOINT_VERSION = 1

/** Why a checkpoint was written. */
export const CheckpointReason = z.enum(['limit', 'pause', 'park', 'shutdown', 'interval', 'capped', 'error'])
export type CheckpointReason = z.infer<typeof CheckpointReason>

/** A file that changed during the session. */
export const ModifiedFile = z.object({
  /** Relative to the project's directory. */
  path: z.string(),
  /** The SHA-256 of its content (for a link, of its target path); null if the file is gone. */
  hash: z.string().nullable(),
  bytes: z.number(),
})
export type ModifiedFile = z.infer<typeof ModifiedFile>

export const KeyDecision = z.object({ question: z.string(), answer: z.string(), rationale: z.string(), by: z.string() })
export type KeyDecision = z.infer<typeof KeyDecision>

/** A task of the session's queue, reduced to what a resume needs. */
export const QueuedTask = z.object({ title: z.string(), state: TaskState })
export type QueuedTask = z.infer<typeof QueuedTask>

/** Everything that is needed to continue a session as if nothing had happened. */
export const Checkpoint = z.object({
  version: z.literal(CHECKPOINT_VERSION),
  session_id: z.string(),
  /** Milliseconds since the epoch. */
  timestamp: z.number(),
  reason: CheckpointReason,
  project_path: z.string(),
  vendor_id: z.string().nullable(),
  /** The person's request, verbatim. */
  original_task: z.string(),
  current_task: z.string(),
  completed_subtasks: z.array(z.string()),
  pending_subtasks: z.array(z.string()),
  /** The session's tasks, including done ones but without cancelled ones. */
  queue: z.array(QueuedTask),
  modified_files: z.array(ModifiedFile),
  key_decisions: z.array(KeyDecision),
  conversation_summary: z.string(),
  next_action: z.string(),
  tokens: z.object({ context: z.number(), window: z.number(), input: z.number(), output: z.number() }),
  cost_usd: z.number(),
  /** The newest event in this checkpoint; the next checkpoint reads from there. */
  last_event: z.number(),
  /** How many older entries were dropped for newer ones, in this and in earlier checkpoints of the session. */
  dropped: z.object({ decisions: z.number(), files: z.number() }),
  /** What did not fit or could not be read, one sentence each. */
  left_out: z.array(z.string()),
})
export type Checkpoint = z.infer<typeof Checkpoint>

/** A file that differs from the checkpoint. */
export interface FileChange {
  path: string
  how: 'changed' | 'deleted' | 'created'
}

/** GET /sessions/:ref/checkpoints: one line of the list. An unusable checkpoint has only a problem. */
export type CheckpointLine =
  | {
      id: string
      timestamp: number
      reason: CheckpointReason
      completed: number
      pending: number
      files: number
      decisions: number
      next_action: string
    }
  | { id: string; problem: string }

/** GET /sessions/:ref/checkpoints/:id */
export interface CheckpointView {
  id: string
  checkpoint: Checkpoint
  /** Files that have changed since it was written. */
  changed: FileChange[]
  /** The prompt for a new conversation. */
  prompt: string
}
