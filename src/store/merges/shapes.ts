import type { Merge, MergeState } from '../../domain/workspace/merge.ts'
import type { Tx } from '../database/tx.ts'

export type NewMerge = Omit<Merge, 'id'>

/** What one queue serves: a repository, by the git directory that its worktrees share, and a branch of it. */
export interface MergeLane {
  repository: string
  target: string
}

export interface MergeFilter {
  project?: string | undefined
  task?: string | undefined
  lane?: MergeLane | undefined
  states?: readonly MergeState[] | undefined
  /** The newest so many, where there are more. */
  limit?: number | undefined
}

/** The ways of attempts' work into their targets. */
export interface Merges {
  insert(row: NewMerge, tx: Tx): Promise<Merge>
  /** Changes a row that is still in that state; false where somebody was quicker. */
  move(row: Pick<Merge, 'id' | 'state'>, patch: Partial<Omit<Merge, 'id'>>, tx: Tx): Promise<boolean>
  get(id: number, tx?: Tx): Promise<Merge | undefined>
  /** The row of a task that is not over. */
  open(task: string, tx?: Tx): Promise<Merge | undefined>
  /** In the order in which they came. */
  list(filter?: MergeFilter, tx?: Tx): Promise<Merge[]>
  /** Queues in which something is not over. */
  lanes(): Promise<MergeLane[]>
  /** Those that landed and whose branch or worktree may still be there. */
  toClean(): Promise<Merge[]>
}
