import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Merge } from '../../domain/merge.ts'
import { PRESENT_WORKTREES, type Worktree } from '../../domain/worktree.ts'
import type { Store, Tx } from '../../store/store.ts'
import { findMergeBase, isAncestorOrSame, readBranchTips } from '../git/refs.ts'
import { repairGitLink } from '../worktrees/worktree.ts'

export interface MergeDeps {
  store: Store
  clock: Clock
  log: Log
  /** The person's environment, for the programs that push a branch and open a pull request. */
  env: Record<string, string | undefined>
  /** Whether the task has a newer attempt than the merge, or no longer waits for it. It only reads. */
  isStale(merge: Merge, tx?: Tx): Promise<boolean>
}

/** What git and the store say about a merge, whatever its row says. */
export interface MergeFacts {
  /** The task has a newer attempt, or is over: this work must not land. */
  isStale: boolean
  /** The target's commit; null if there is no such branch. */
  target: string | null
  /** The branch's commit; null if it is gone. */
  tip: string | null
  /** The target holds the verified commit itself. */
  hasHead: boolean
  /** The target holds the commit that this merge made of the verified work. */
  hasResult: boolean
}

/**
 * `finish`: the work is in the target, only the row does not say so yet. `restore`: the daemon died in the middle; everything
 * goes back to the verified work, and the merge is queued again. `attempt`: the merge can be tried. `leave`: nothing to do.
 * `refuse`: the attempt is stale. `wait`: something is in the way that can go away. `give_up`: a person is asked.
 */
export type MergeStep =
  | { kind: 'leave' | 'restore' | 'attempt' }
  | { kind: 'finish'; result: string }
  | { kind: 'refuse' | 'wait' | 'give_up'; why: string }

/**
 * Decides what to do with a merge. It is a pure function of the row and of facts, so that a daemon that starts after a crash
 * decides as the one that died would have. What git has done counts before what the row says: work that is in the target is
 * merged, even where its attempt is stale.
 */
export function nextMergeStep(merge: Merge, facts: MergeFacts): MergeStep {
  switch (merge.state) {
    case 'merged':
    case 'proposed':
    case 'failed':
    case 'aborted':
    case 'conflicted':
    case 'review':
      return { kind: 'leave' }
    case 'queued':
    case 'waiting':
      return nextStepAtRest(merge, facts)
    case 'rebasing':
    case 'verifying':
    case 'landing':
      return nextStepUnderWay(merge, facts)
  }
}

function nextStepAtRest(merge: Merge, facts: MergeFacts): MergeStep {
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

/** The daemon died during this merge. Only the move of the target cannot be undone, and git knows whether that happened. */
function nextStepUnderWay(merge: Merge, facts: MergeFacts): MergeStep {
  if (facts.hasResult && merge.result !== null) return { kind: 'finish', result: merge.result }
  return { kind: 'restore' }
}

/** Asks git about a merge. `common`: the newest commit that the target and the verified work have in common. */
export async function readMergeFacts(merge: Merge, isStale: boolean): Promise<MergeFacts & { common: string | null }> {
  const { repository, head, result } = merge
  const tips = await readBranchTips(repository, [merge.target, merge.branch])
  const target = tips.get(merge.target) ?? null
  const [common, hasResult] = await Promise.all([
    head === null || target === null ? undefined : findMergeBase(repository, target, head),
    result !== null && target !== null && isAncestorOrSame(repository, result, target),
  ])
  const hasHead = head !== null && common === head
  return { isStale, target, tip: tips.get(merge.branch) ?? null, common: common ?? null, hasHead, hasResult }
}

export type MergePatch = Partial<Omit<Merge, 'id'>>

/** Changes a row in its own transaction, together with what `also` writes; undefined if somebody else changed the row first. */
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

/** Changes a row in the caller's transaction; undefined if somebody else changed the row first. */
export async function changeMergeIn(
  merge: Merge,
  patch: MergePatch,
  { store, clock }: Pick<MergeDeps, 'store' | 'clock'>,
  tx: Tx,
): Promise<Merge | undefined> {
  const changes = { ...patch, updated_at: clock.now() }
  return (await store.merges.move(merge, changes, tx)) ? { ...merge, ...changes } : undefined
}

/** Appends the event that a merge is held up. */
export async function appendHeldUp(merge: Merge, reason: string, tx: Tx): Promise<void> {
  const { task_id: task, target } = merge
  await tx.append([{ actor: 'daemon', subject: task, kind: 'merge.held_up', body: { task, target, reason } }])
}

/** The worktree that holds the work of a merge; undefined if it is archived or removed, or its slot is free for others. */
export async function findMergeWorktree(
  { task_id, attempt }: Pick<Merge, 'task_id' | 'attempt'>,
  { store }: Pick<MergeDeps, 'store'>,
): Promise<Worktree | undefined> {
  const row = await store.worktrees.get({ task: task_id, attempt })
  if (row?.state !== 'live' && row?.state !== 'making') return undefined
  const { directory, top, task, branch, target, base } = row
  return { directory, top, task, attempt, branch, target, base }
}

/** The directories of all worktrees of tasks in a repository. */
export async function listPlaces(repository: string, { store }: Pick<MergeDeps, 'store'>): Promise<string[]> {
  return (await store.worktrees.list({ repository, states: PRESENT_WORKTREES })).map(({ top }) => top)
}

/** The worktree of a merge if git can be called in it: an agent may have made its file `.git` point to another repository. */
export async function findUsableWorktree(merge: Merge, deps: Pick<MergeDeps, 'store'>): Promise<Worktree | undefined> {
  const worktree = await findMergeWorktree(merge, deps)
  if (!worktree) return undefined
  const { top, branch } = worktree
  return (await repairGitLink({ top, branch, repository: merge.repository })) ? worktree : undefined
}
