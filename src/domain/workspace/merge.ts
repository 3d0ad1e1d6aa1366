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
  created_at: number
  updated_at: number
}
