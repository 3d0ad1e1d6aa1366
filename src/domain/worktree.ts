import * as z from 'zod'
import { TaskState } from './task.ts'

/**
 * The worktree of an attempt at a task that does not work in the project itself. `project` remains the directory that the
 * person manages: settings, trust, notes and tasks belong to it.
 */
export const Worktree = z.strictObject({
  /** The agent's working directory. It has the same path within the worktree as the project has within its repository. */
  directory: z.string().min(1),
  /** The top directory of the worktree. */
  top: z.string().min(1),
  task: z.string().min(1),
  /** The attempt for which it was made; an older attempt may not land from it. */
  attempt: z.number().int().positive(),
  /** That of `branchOfTask`. */
  branch: z.string().min(1),
  /** The branch into which its work is merged, without `refs/heads/`. */
  target: z.string().min(1),
  /** The commit of the target from which it started. */
  base: z.string().min(1),
})
export type Worktree = z.infer<typeof Worktree>

/** The branch on which the work of a task is. */
export function branchOfTask(task: string): string {
  return `pcc/${task}`
}

/** The task whose work is on a branch; undefined if the branch is not ours. */
export function taskOfBranch(branch: string): string | undefined {
  const task = branch.slice('pcc/'.length)
  return /^t-[0-9a-f]{6,}$/.test(task) && branch === branchOfTask(task) ? task : undefined
}

/**
 * `making`: the row exists, but git may not have made the worktree yet. `archived`: its work is in a ref, and the directory is gone.
 * `idle`: its task is over, and its directory is a slot that waits for the next task of a run. `leaving`: the directory of an idle one
 * is being handed over or removed.
 */
const WorktreeState = z.enum(['making', 'live', 'idle', 'leaving', 'archived', 'removed'])
export type WorktreeState = z.infer<typeof WorktreeState>

/** Whether a worktree is in a slot: a directory that stays from task to task, and that no task is named after. */
export function isSlot({ top }: Pick<Worktree, 'top'>): boolean {
  return /\/slot-\d+$/.test(top)
}

/** The states in which a row has a directory. */
export const PRESENT_WORKTREES = ['making', 'live', 'idle', 'leaving'] as const satisfies readonly WorktreeState[]

/** The row of a worktree; there is one for each attempt that had a worktree. */
export const WorktreeRow = Worktree.extend({
  project: z.string(),
  /** The git directory that all worktrees of the repository share. */
  repository: z.string(),
  state: WorktreeState,
  /** Why it still exists, or where its work went, for the person. */
  reason: z.string().nullable(),
  /** `refs/pcc/archive/<task>/<n>`, if its work was archived before the directory was removed. */
  archive: z.string().nullable(),
  /** The result of the set-up command and of copying the dependency directories, for the person. */
  setup: z.string().nullable(),
  created_at: z.number(),
  ended_at: z.number().nullable(),
})
export type WorktreeRow = z.infer<typeof WorktreeRow>

/** Whether the finished work is the same commit with which the attempt started. */
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
export const WorktreeView = WorktreeRow.extend({
  /** Null if the task no longer exists. */
  task_state: TaskState.nullable(),
  title: z.string().nullable(),
  /** Whether its directory exists. */
  exists: z.boolean(),
})
export type WorktreeView = z.infer<typeof WorktreeView>

/** What would happen if the worktree were removed now, and why. */
export const WorktreeForecast = z.object({
  kind: z.enum(['removed', 'archived', 'kept']),
  why: z.string().nullable(),
  /** Whether the project has uncommitted changes, which are not in the worktree. */
  project_is_dirty: z.boolean(),
})
export type WorktreeForecast = z.infer<typeof WorktreeForecast>
