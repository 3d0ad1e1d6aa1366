import type { Evidence } from '../evidence.ts'
import type { Merge } from '../merge.ts'
import type { Worktree } from '../place.ts'

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
  worktree: Worktree | null
  /** Number of the decision that waits for a person. */
  review: number | null
}
