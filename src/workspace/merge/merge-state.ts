import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { VerificationResult } from '../../domain/evidence.ts'
import type { Conflict, Merge } from '../../domain/merge.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { Store, Tx } from '../../store/store.ts'
import { isAncestorOrSame, readBranchTips } from '../git/refs.ts'
import { repairGitLink } from '../worktrees/worktree.ts'

/** What becomes of a worktree whose work has landed. */
export interface MergedWorktreeRemoval {
  kind: 'removed' | 'archived' | 'kept'
  why?: string
}

/**
 * What the queue is given by those who know tasks and gates. Everything with a `tx` happens in the transaction that changes the
 * merge's row, so that task and merge never say different things.
 */
export interface MergeDeps {
  store: Store
  clock: Clock
  log: Log
  /** Most that are tried together. */
  batch: number
  signal?: AbortSignal | undefined
  /** Removes the worktree and the branch on positive evidence; `landed` reached the target in another form. */
  removePlace(place: Worktree, options: { landed: string | undefined }): Promise<MergedWorktreeRemoval>
  /**
   * Runs the gates once more, on a commit that lies in `place`: the base has moved, or several are tried together. It may hold
   * the work of the merges of the same batch as well.
   */
  verifyAgain(merge: Merge, place: Worktree, commit: string): Promise<VerificationResult>
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
  propose?(merge: Merge, place: Worktree, title: string): Promise<PullRequestResult>
}

/** `url` is the pull request's; `why` says what is missing. */
export type PullRequestResult = { ok: true; url: string } | { ok: false; why: string }

/** What git and the store say about a merge, whatever its row believes. */
export interface MergeFacts {
  /** The task has a newer attempt, or is over: this work may not land any more. */
  isStale: boolean
  /** The target's commit; null where there is no such branch. */
  target: string | null
  /** The branch's commit; null where it is gone. */
  tip: string | null
  /** The target holds the verified work as it was. */
  hasHead: boolean
  /** The target holds what this merge made of it. */
  hasResult: boolean
}

/**
 * `finish`: it is in the target, only the row does not know. `restore`: somebody died in the middle; everything goes back to
 * the verified work, and it is queued anew. `attempt`: its turn. `leave`: not ours to touch.
 */
export type MergeStep =
  | { kind: 'leave' | 'clean' | 'restore' | 'attempt' }
  | { kind: 'finish'; result: string }
  | { kind: 'refuse' | 'wait' | 'give_up'; why: string }

/**
 * What is to be done with a merge: a function of its row and of facts, so that somebody who comes after a crash decides as the
 * one who died would have. What git has done counts before what the row says, and work that is in the target is in it, whoever
 * may think that its attempt is stale.
 */
export function nextMergeStep(merge: Merge, facts: MergeFacts): MergeStep {
  switch (merge.state) {
    case 'merged':
      return { kind: merge.cleaned_at === null ? 'clean' : 'leave' }
    case 'proposed':
    case 'failed':
    case 'aborted':
    case 'conflicted':
    case 'review':
      return { kind: 'leave' }
    case 'queued':
    case 'waiting':
      return atRest(merge, facts)
    case 'rebasing':
    case 'verifying':
    case 'landing':
      return underWay(merge, facts)
  }
}

function atRest(merge: Merge, facts: MergeFacts): MergeStep {
  // A person may have merged it by hand while it waited.
  if (facts.hasResult && merge.result !== null) return { kind: 'finish', result: merge.result }
  if (facts.hasHead && merge.head !== null) return { kind: 'finish', result: merge.head }
  if (facts.isStale) return { kind: 'refuse', why: 'a newer attempt at the task has begun, or the task is over' }
  if (facts.target === null) return { kind: 'wait', why: `there is no branch ${merge.target} to merge into` }
  if (facts.tip === null) return { kind: 'give_up', why: `the branch ${merge.branch} is gone` }
  if (facts.tip !== merge.head && facts.tip !== merge.result) {
    return { kind: 'give_up', why: `somebody has moved ${merge.branch} since its work was verified` }
  }
  return { kind: 'attempt' }
}

/** Somebody died here. Only the move of the target cannot be taken back, and of that git knows. */
function underWay(merge: Merge, facts: MergeFacts): MergeStep {
  if (facts.hasResult && merge.result !== null) return { kind: 'finish', result: merge.result }
  return { kind: 'restore' }
}

/** Asks git about a merge. */
export async function readMergeFacts(merge: Merge, isStale: boolean): Promise<MergeFacts> {
  const { repository, head, result } = merge
  const tips = await readBranchTips(repository, [merge.target, merge.branch])
  const target = tips.get(merge.target) ?? null
  const isIn = async (commit: string | null) =>
    commit !== null && target !== null && (await isAncestorOrSame(repository, commit, target))
  const [hasHead, hasResult] = await Promise.all([isIn(head), isIn(result)])
  return { isStale, target, tip: tips.get(merge.branch) ?? null, hasHead, hasResult }
}

type MergePatch = Partial<Omit<Merge, 'id'>>

/** Changes a row in a transaction of its own, with whatever else belongs into it; undefined where somebody was quicker. */
export function changeMerge(
  merge: Merge,
  patch: MergePatch,
  deps: Pick<MergeDeps, 'store' | 'clock'>,
  also?: (changed: Merge, tx: Tx) => Promise<void>,
): Promise<Merge | undefined> {
  return deps.store.transaction(async tx => {
    const changed = await changeMergeIn(merge, patch, deps, tx)
    if (changed) await also?.(changed, tx)
    return changed
  })
}

/** The same in the caller's transaction. */
export async function changeMergeIn(
  merge: Merge,
  patch: MergePatch,
  { store, clock }: Pick<MergeDeps, 'store' | 'clock'>,
  tx: Tx,
): Promise<Merge | undefined> {
  const all = { ...patch, updated_at: clock.now() }
  return (await store.merges.move(merge, all, tx)) ? { ...merge, ...all } : undefined
}

/** Tells of a merge, to whoever follows its task. */
export async function appendHeldUp(merge: Merge, reason: string, tx: Tx): Promise<void> {
  const { task_id: task, target } = merge
  await tx.append([{ actor: 'daemon', subject: task, kind: 'merge.held_up', body: { task, target, reason } }])
}

/** Where the work of a merge lies, as long as it has a place. */
export async function placeOfMerge(
  { task_id, attempt }: Pick<Merge, 'task_id' | 'attempt'>,
  { store }: Pick<MergeDeps, 'store'>,
): Promise<Worktree | undefined> {
  const row = await store.worktrees.get({ task: task_id, attempt })
  if (!row || row.state === 'archived' || row.state === 'removed') return undefined
  const { directory, top, task, branch, target, base } = row
  return { directory, top, task, attempt, branch, target, base }
}

/** The same where git may be called in it: what the agent did to its file `.git` must not lead us into another repository. */
export async function usableWorktreeOfMerge(
  merge: Merge,
  deps: Pick<MergeDeps, 'store'>,
): Promise<Worktree | undefined> {
  const place = await placeOfMerge(merge, deps)
  return place && (await repairGitLink({ top: place.top, repository: merge.repository })) ? place : undefined
}
