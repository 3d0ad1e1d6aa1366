import * as z from 'zod'
import type { TaskState } from './task.ts'

/**
 * Where an attempt at a task works, when that is not the project itself: a worktree of its own. `project` stays what the person
 * manages: settings, trust, notes and tasks belong to it.
 */
export const Worktree = z.strictObject({
  /** The agent's working directory. Within the worktree it is the same folder that the project is of its repository. */
  directory: z.string().min(1),
  /** Top of the worktree. */
  top: z.string().min(1),
  task: z.string().min(1),
  /** The attempt for which it was made: an older one may not land from it. */
  attempt: z.number().int().positive(),
  /** `pcc/<task-id>`. */
  branch: z.string().min(1),
  /** The branch that its work is for, without `refs/heads/`. */
  target: z.string().min(1),
  /** The commit of the target from which it began. */
  base: z.string().min(1),
})
export type Worktree = z.infer<typeof Worktree>

/** `making`: named in a row, git may not have done it yet. `archived`: its work lies in a ref, the directory is gone. */
export type WorktreeState = 'making' | 'live' | 'archived' | 'removed'

/** A worktree as its row holds it: one for each attempt that had one. */
export interface WorktreeRow extends Worktree {
  project: string
  /** The git directory that all worktrees of the repository share. */
  repository: string
  state: WorktreeState
  /** Why it is still there, or where its work went, for the person. */
  reason: string | null
  /** `refs/pcc/archive/<task>/<n>`, where its work was kept before the directory went. */
  archive: string | null
  /** What became of the set-up command and of the dependency directories, for the person. */
  setup: string | null
  created_at: number
  ended_at: number | null
}

/** Whether what was called done there is the very commit that the attempt began with. */
export function hasChangedNothing(
  place: Pick<Worktree, 'base'> | undefined,
  { head }: { head: string | null },
): boolean {
  return place !== undefined && head === place.base
}

/** Where the agent of a session works: in a worktree of its own, or in the project itself. */
export function workDirectory({
  project,
  options,
}: {
  project: string
  options: { place?: Worktree | undefined }
}): string {
  return options.place?.directory ?? project
}

/** A worktree as people see it. */
export interface WorktreeView extends WorktreeRow {
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
