import type { TaskState } from '../task.ts'
import type { Merge } from './merge.ts'

/** A merge as people see it. */
export interface MergeView extends Merge {
  /** Null where nobody knows the task any more. */
  title: string | null
  task_state: TaskState | null
  /** Those of the same target that come before it. */
  ahead: number
}
