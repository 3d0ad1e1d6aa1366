import * as z from 'zod'
import { Evidence } from './evidence.ts'
import { MERGE_STRATEGIES } from './option-values.ts'
import { TaskState } from './task.ts'
import { WorktreeRow } from './worktree.ts'

/** Why a merge waits whose verifier has no account now. The account has a row of its own in the list of what waits for a person. */
export const WAITS_FOR_ACCOUNT = 'it waits until the account of its verifier can be used'

/**
 * `queued → rebasing → verifying → landing → merged`. `conflicted`: the task's own conversation resolves a conflict.
 * `waiting`: something outside must change first (the main checkout is dirty). `review`: a person must review it.
 * `proposed`: a pull request was opened.
 */
export const MERGE_STATES = [
  'queued',
  'rebasing',
  'verifying',
  'landing',
  'conflicted',
  'waiting',
  'review',
  'merged',
  'proposed',
  'failed',
  'aborted',
] as const
export type MergeState = (typeof MERGE_STATES)[number]

/** The merge of one attempt's work into its target. The row is written before git is called, and again after. */
export const Merge = z.object({
  id: z.number(),
  task_id: z.string(),
  /** Fencing: a merge of an older attempt than the task's current one is never carried out. */
  attempt: z.number(),
  project: z.string(),
  repository: z.string(),
  branch: z.string(),
  target: z.string(),
  strategy: z.enum(MERGE_STRATEGIES),
  state: z.enum(MERGE_STATES),
  /** Why it is in that state, for the person. */
  reason: z.string().nullable(),
  /** The target's commit on which the verified work is based, and the commit of that work. */
  base: z.string().nullable(),
  head: z.string().nullable(),
  /** The commit to which the target was, or will be, moved; known before git is called. */
  result: z.string().nullable(),
  /** Merges that are tried together have the same batch. */
  batch: z.number().nullable(),
  /** 1 if a pull request is opened instead of moving the target. */
  as_pull_request: z.number(),
  /** How often its conversation got a conflict to resolve. */
  rounds: z.number(),
  /** When the branch and the worktree of a landed merge were removed. */
  cleaned_at: z.number().nullable(),
  created_at: z.number(),
  updated_at: z.number(),
})
export type Merge = z.infer<typeof Merge>

/** States in which the queue works on the merge. */
export const MERGES_AT_WORK = ['rebasing', 'verifying', 'landing'] as const satisfies readonly MergeState[]

/** States that are not over; a task has at most one merge in them. */
export const OPEN_MERGES = [
  'queued',
  ...MERGES_AT_WORK,
  'conflicted',
  'waiting',
  'review',
] as const satisfies readonly MergeState[]

/** One file of a conflict, as shown to the task's conversation. */
export interface ConflictedFile {
  path: string
  /** What happened to it on both sides, as text. */
  what: string
  /** The conflict markers with some lines around them, cut to a maximum length; empty if there is no text to show. */
  hunks: string
}

/** The conflict in a worktree after a rebase or merge that could not finish by itself. */
export interface Conflict {
  kind: 'rebase' | 'merge'
  files: ConflictedFile[]
  /** The total number of files; only the first ones are listed. */
  count: number
  /** The commit that could not be applied, by its first line; null for a merge. */
  commit: string | null
}

/** A merge as people see it. */
export const MergeView = Merge.extend({
  /** Null if the task no longer exists. */
  title: z.string().nullable(),
  task_state: TaskState.nullable(),
  /** How many merges into the same target come before it. */
  ahead: z.number(),
})
export type MergeView = z.infer<typeof MergeView>

export const ChangedFile = z.object({
  path: z.string(),
  /** Null for binary files. */
  added: z.number().nullable(),
  removed: z.number().nullable(),
})
export type ChangedFile = z.infer<typeof ChangedFile>

/** GET /tasks/:ref/diff: what an attempt at a task changed. */
export const TaskDiff = z.object({
  task: z.string(),
  title: z.string(),
  attempt: z.number(),
  /** Where the diff comes from: the current worktree, the merged commits, or the archive of a removed worktree. */
  source: z.enum(['worktree', 'merged', 'archived']),
  from: z.string(),
  to: z.string(),
  branch: z.string(),
  target: z.string(),
  files: z.array(ChangedFile),
  /** The unified diff of git; absent if only the numbers were requested. */
  diff: z.string().optional(),
  /** Whether the diff is longer than what is returned. */
  cut: z.boolean(),
})
export type TaskDiff = z.infer<typeof TaskDiff>

/** GET /tasks/:ref/work: what is known about a task's work. */
export const TaskWork = z.object({
  task: z.string(),
  title: z.string(),
  state: z.string(),
  attempt: z.number(),
  /** The results of the newest verification. */
  evidence: z.array(Evidence.omit({ task_id: true })),
  merge: Merge.nullable(),
  worktree: WorktreeRow.nullable(),
  /** The number of the decision that waits for a person. */
  review: z.number().nullable(),
})
export type TaskWork = z.infer<typeof TaskWork>
