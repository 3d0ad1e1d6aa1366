import type { Evidence } from './evidence.ts'
import type { TaskState } from './task.ts'
import type { WorktreeRow } from './worktree.ts'

/**
 * `queued → rebasing → verifying → landing → merged`. `conflicted` is with the task's own conversation, `waiting` stands until
 * something outside changes (the main checkout is dirty), `review` until a person has looked. `proposed`: a pull request.
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

export const MERGE_STRATEGIES = ['rebase', 'merge', 'squash'] as const
export type MergeStrategy = (typeof MERGE_STRATEGIES)[number]

/** The way of one attempt's work into its target. Written before git is called, and again after it. */
export interface Merge {
  id: number
  task_id: string
  /** Fencing: a row of an older attempt than the task's is never carried out. */
  attempt: number
  project: string
  repository: string
  branch: string
  target: string
  strategy: MergeStrategy
  state: MergeState
  /** Why it is in that state, for the person. */
  reason: string | null
  /** The target's commit on which the verified work stands, and that work. */
  base: string | null
  head: string | null
  /** What the target was moved to, or will be: known before git is called. */
  result: string | null
  /** Rows that are tried together have the same. */
  batch: number | null
  /** A pull request in place of moving the target. */
  as_pull_request: number
  /** How often its conversation was given a conflict. */
  rounds: number
  /** When the branch and the worktree of one that landed were gone. */
  cleaned_at: number | null
  created_at: number
  updated_at: number
}

/** On their way: the queue drives them. */
export const MERGES_AT_WORK = ['rebasing', 'verifying', 'landing'] as const satisfies readonly MergeState[]

/** Not over yet: at most one of a task's rows is in one of them. */
export const OPEN_MERGES = [
  'queued',
  ...MERGES_AT_WORK,
  'conflicted',
  'waiting',
  'review',
] as const satisfies readonly MergeState[]

/** One file of a conflict, as the task's conversation is shown it. */
export interface ConflictedFile {
  path: string
  /** What happened to it on both sides, in words. */
  what: string
  /** The places with markers and some lines around them, cut to a bound; empty where there is no text to show. */
  hunks: string
}

/** What stands in a worktree after a rebase or merge that could not be finished alone. */
export interface Conflict {
  kind: 'rebase' | 'merge'
  files: ConflictedFile[]
  /** How many files there are in all: only the first ones are listed. */
  count: number
  /** The commit that could not be applied, by its first line; null for a merge. */
  commit: string | null
}

/** A merge as people see it. */
export interface MergeView extends Merge {
  /** Null where nobody knows the task any more. */
  title: string | null
  task_state: TaskState | null
  /** Those of the same target that come before it. */
  ahead: number
}

export interface ChangedFile {
  path: string
  /** Null for what is no text. */
  added: number | null
  removed: number | null
}

/** What an attempt at a task changed. GET /tasks/:ref/diff */
export interface TaskDiff {
  task: string
  title: string
  attempt: number
  /** Where it was found: in the worktree as it is now, in what was merged, or in what was kept of a worktree that is gone. */
  source: 'worktree' | 'merged' | 'archived'
  from: string
  to: string
  branch: string
  target: string
  files: ChangedFile[]
  /** Unified, as git tells it; absent where only the numbers were asked for. */
  diff?: string
  /** There is more of it than is told. */
  cut: boolean
}

/** What is known of a task's work. GET /tasks/:ref/work */
export interface TaskWork {
  task: string
  title: string
  state: string
  attempt: number
  /** Of the newest verification. */
  evidence: Omit<Evidence, 'task_id'>[]
  merge: Merge | null
  worktree: WorktreeRow | null
  /** Number of the decision that waits for a person. */
  review: number | null
}
