import type { TaskState } from '../task.ts'
import type { Worktree } from './place.ts'

/** A worktree as people see it. */
export interface WorktreeView extends Worktree {
  /** Null where nobody knows the task any more. */
  task_state: TaskState | null
  title: string | null
  /** Whether its directory is there. */
  exists: boolean
}

/** What would become of it if it were removed now, and why. */
export interface WorktreeForecast {
  kind: 'removed' | 'archived' | 'kept'
  why: string | null
  /** The project has changes that are not committed, and so are not in it. */
  project_is_dirty: boolean
}
