import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { VerificationResult } from '../../domain/workspace/evidence.ts'
import type { Conflict, Merge } from '../../domain/workspace/merge.ts'
import type { Place } from '../../domain/workspace/place.ts'
import type { Store, Tx } from '../../store/store.ts'

/** What becomes of a worktree whose work has landed. */
export interface Removal {
  kind: 'removed' | 'archived' | 'kept'
  why?: string
}

/**
 * What the queue is given by those who know tasks and gates. Everything with a `tx` happens in the transaction that changes the
 * merge's row, so that task and merge never say different things.
 */
export interface MergeParts {
  store: Store
  clock: Clock
  log: Log
  /** Most that are tried together. */
  batch: number
  signal?: AbortSignal | undefined
  /** Removes the worktree and the branch on positive evidence; `landed` reached the target in another form. */
  removePlace(place: Place, options: { landed: string | undefined }): Promise<Removal>
  /**
   * Runs the gates once more, on a commit that lies in `place`: the base has moved, or several are tried together. It may hold
   * the work of the merges of the same batch as well.
   */
  verifyAgain(merge: Merge, place: Place, commit: string): Promise<VerificationResult>
  /** The task is done. Of a merge that is `proposed` the `reason` is the address of the pull request. */
  landed(merge: Merge, tx: Tx): Promise<void>
  /** The gates that passed before do not on the target of now: back to its conversation, in whose worktree it lies like that. */
  sentBack(merge: Merge, result: VerificationResult, tx: Tx): Promise<void>
  /** The rebase or merge stands in the task's worktree, for its own conversation. */
  conflicted(merge: Merge, conflict: Conflict, tx: Tx): Promise<void>
  /** A person has to look; the worktree is as it was left. */
  gaveUp(merge: Merge, why: string, tx: Tx): Promise<void>
  /** The task has a newer attempt than the merge, or does not wait for it any more. */
  isStale(merge: Merge, tx: Tx): Promise<boolean>
  /** Pushes and opens a pull request; not there where nobody may. */
  propose?(merge: Merge, place: Place, title: string): Promise<Proposed>
}

/** `url` is the pull request's; `why` says what is missing. */
export type Proposed = { ok: true; url: string } | { ok: false; why: string }
