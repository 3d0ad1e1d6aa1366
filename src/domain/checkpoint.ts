import * as z from 'zod'

/** Written into every checkpoint. One of a higher version is left alone: this program would lose what it does not know. */
export const CHECKPOINT_VERSION = 1

/** Why a checkpoint was written. */
export const CheckpointReason = z.enum(['limit', 'pause', 'park', 'shutdown', 'interval', 'capped', 'error'])
export type CheckpointReason = z.infer<typeof CheckpointReason>

/** A file that changed while the session was at work. */
export const ModifiedFile = z.object({
  /** From the project's directory. */
  path: z.string(),
  /** SHA-256 of what is in it (of where it points, for a link); null where the file is gone. */
  hash: z.string().nullable(),
  bytes: z.number(),
})
export type ModifiedFile = z.infer<typeof ModifiedFile>

export const KeyDecision = z.object({ question: z.string(), answer: z.string(), rationale: z.string(), by: z.string() })
export type KeyDecision = z.infer<typeof KeyDecision>

/** A task of the session's queue, as far as going on needs it. */
export const QueuedTask = z.object({ title: z.string(), state: z.string() })
export type QueuedTask = z.infer<typeof QueuedTask>

/** Whether a task was being worked on, be it that it waits for a limit or a person now. */
export function isBegun({ state }: QueuedTask): boolean {
  return state === 'running' || state === 'waiting' || state === 'verifying' || state === 'merging'
}

/** What is needed to go on with a session as if nothing had happened. */
export const Checkpoint = z.object({
  version: z.literal(CHECKPOINT_VERSION),
  session_id: z.string(),
  /** Milliseconds since the epoch. */
  timestamp: z.number(),
  reason: CheckpointReason,
  project_path: z.string(),
  vendor_id: z.string().nullable(),
  /** What the person asked for, in their words. */
  original_task: z.string(),
  current_task: z.string(),
  completed_subtasks: z.array(z.string()),
  pending_subtasks: z.array(z.string()),
  /** The session's tasks that are not cancelled, done ones too. */
  queue: z.array(QueuedTask),
  modified_files: z.array(ModifiedFile),
  key_decisions: z.array(KeyDecision),
  conversation_summary: z.string(),
  next_action: z.string(),
  tokens: z.object({ context: z.number(), window: z.number(), input: z.number(), output: z.number() }),
  cost_usd: z.number(),
  /** The newest event that went into it: the next checkpoint reads on from there. */
  last_event: z.number(),
  /** How many older ones had to give way to newer ones, in this and in earlier checkpoints of the session. */
  dropped: z.object({ decisions: z.number(), files: z.number() }),
  /** What did not fit or could not be looked at, one sentence each. */
  left_out: z.array(z.string()),
})
export type Checkpoint = z.infer<typeof Checkpoint>

/** A file that is not as the checkpoint knows it. */
export interface FileChange {
  path: string
  how: 'changed' | 'deleted' | 'created'
}

/** GET /sessions/:ref/checkpoints: one line of the list. One that cannot be used has a problem and nothing else. */
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
  /** Files that are not as they were when it was written. */
  changed: FileChange[]
  /** What a new conversation would be told. */
  prompt: string
}
