import type { Worktree, WorktreeState } from '../../domain/workspace/place.ts'
import type { Tx } from '../database/tx.ts'

export type WorktreeKey = Pick<Worktree, 'task' | 'attempt'>

export interface WorktreeFilter {
  project?: string | undefined
  task?: string | undefined
  repository?: string | undefined
  states?: readonly WorktreeState[] | undefined
}

/** Worktrees: one row for each attempt that had one. */
export interface Worktrees {
  /** Takes the place of the same attempt's row. */
  put(row: Worktree, tx?: Tx): Promise<void>
  update(key: WorktreeKey, patch: Partial<Omit<Worktree, 'task' | 'attempt'>>, tx?: Tx): Promise<void>
  get(key: WorktreeKey, tx?: Tx): Promise<Worktree | undefined>
  /** Newest first. */
  list(filter?: WorktreeFilter, tx?: Tx): Promise<Worktree[]>
}
