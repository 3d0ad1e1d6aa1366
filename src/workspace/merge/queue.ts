import { AppError, messageOf } from '../../base/errors.ts'
import { MERGES_AT_WORK, type Merge, type MergeStrategy } from '../../domain/merge.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { Tx } from '../../store/store.ts'
import type { MergeQueueKey } from '../../store/task-stores.ts'
import { type BatchResult, tryBatch } from './attempt.ts'
import {
  changeMerge,
  changeMergeIn,
  findUsableWorktree,
  type MergeDeps,
  nextMergeStep,
  readMergeFacts,
} from './merge-state.ts'
import { whyTargetBlocked } from './move-target.ts'
import { abortStale, cleanUp, finish, giveUp, holdUp } from './outcomes.ts'
import { restoreAfterDeath } from './restore-work.ts'
import { findCheckouts, repairCheckout } from './target-checkout.ts'

export interface EnqueueRequest {
  strategy: MergeStrategy
  /** The commit that was verified: what `VerificationResult.commit` says. */
  head: string
  /** A person has to look before its turn can come. */
  review?: boolean | undefined
  asPullRequest?: boolean | undefined
}

/**
 * Queues verified work, in the caller's transaction. A task has at most one open merge: after a conflict the same row is used
 * again, a second call for the same work returns the same row, and the merge of an older attempt is aborted.
 */
export async function enqueueMerge(
  worktree: Worktree,
  wanted: EnqueueRequest,
  deps: QueueDeps & { tx: Tx },
): Promise<Merge> {
  const { store, clock, tx } = deps
  const { task: task_id, attempt } = worktree
  const row = await store.worktrees.get({ task: task_id, attempt }, tx)
  if (!row) throw new AppError('merge_no_worktree', { task: task_id, attempt })
  const { project, repository, branch, target } = row
  const { strategy, head } = wanted
  const state = wanted.review ? 'review' : 'queued'
  const open = await store.merges.open(task_id, tx)
  if (open && open.attempt === attempt) {
    const isAtWork = MERGES_AT_WORK.some(state => state === open.state)
    if (isAtWork || (open.head === head && open.state !== 'conflicted')) return open
    const patch = { state, head, strategy, base: null, result: null, reason: null } as const
    return (await changeMergeIn(open, patch, deps, tx)) ?? open
  }
  if (open) await changeMergeIn(open, { state: 'aborted', reason: `attempt ${attempt} took its place` }, deps, tx)
  return store.merges.insert(
    {
      ...{ task_id, attempt, project, repository, branch, target, strategy, state, head },
      ...{ reason: null, base: null, result: null, batch: null, rounds: 0, cleaned_at: null },
      ...{ as_pull_request: wanted.asPullRequest ? 1 : 0, created_at: clock.now(), updated_at: clock.now() },
    },
    tx,
  )
}

type QueueDeps = Pick<MergeDeps, 'store' | 'clock'>

/** How soon a blocked checkout is checked again: the longer it has been blocked, the later. */
const SOONEST_MS = 2_000
const LATEST_MS = 60_000

/**
 * Advances one queue until nothing in it can go on; one caller at a time for each queue. Where merges do not pass together, half
 * as many are tried each time, until the one at fault is found: it is sent back alone, and the others land.
 */
export async function advanceMerges(lane: MergeQueueKey, deps: MergeDeps): Promise<{ lookAgainAt?: number }> {
  let size = deps.batch
  let suspects = 0
  while (!deps.signal?.aborted) {
    const { ready, tip } = await collectReady(lane, size, deps)
    if (ready.length === 0 || tip === null) return whenToLookAgain(await listWaiting(lane, deps), deps)
    if (await isStillBlocked(ready[0], tip, deps)) return whenToLookAgain(await listWaiting(lane, deps), deps)
    const tried = await tryBatchSafely(nextBatch(ready, size), tip, deps)
    if (tried.kind === 'waits') return whenToLookAgain(await listWaiting(lane, deps), deps)
    suspects = tried.kind === 'red' ? tried.count : tried.kind === 'landed' ? suspects - tried.count : 0
    size = suspects > 0 ? Math.ceil(Math.min(size, suspects) / 2) : deps.batch
  }
  return {}
}

/** The first merges, up to `size`; a merge that becomes a pull request goes alone. */
function nextBatch(ready: readonly Merge[], size: number): Merge[] {
  const alone = ready.findIndex(merge => merge.as_pull_request)
  return ready.slice(0, Math.max(1, alone < 0 ? size : Math.min(size, alone)))
}

/**
 * The first merges that can be tried, up to `most`, and the target's commit at that time. The next steps of the merges that
 * cannot be tried are carried out on the way.
 */
async function collectReady(
  lane: MergeQueueKey,
  most: number,
  deps: MergeDeps,
): Promise<{ ready: Merge[]; tip: string | null }> {
  const ready: Merge[] = []
  let tip: string | null = null
  for (const merge of await listWaiting(lane, deps)) {
    if (ready.length >= most) break
    const isStale = await deps.store.transaction(tx => deps.isStale(merge, tx))
    const facts = await readMergeFacts(merge, isStale)
    const step = nextMergeStep(merge, facts)
    tip ??= facts.target
    if (step.kind === 'finish') await finish([{ merge, result: step.result }], deps)
    else if (step.kind === 'refuse') await abortStale(merge, step.why, deps)
    else if (step.kind === 'give_up') await giveUp(merge, step.why, deps)
    else if (step.kind === 'wait') await holdUp(merge, step.why, deps)
    else if (step.kind === 'attempt') ready.push(merge)
  }
  return { ready, tip }
}

function listWaiting(lane: MergeQueueKey, { store }: MergeDeps): Promise<Merge[]> {
  return store.merges.list({ lane, states: ['queued', 'waiting'] })
}

/** Whether the first merge is still blocked. Only that one is checked, so that waiting stays cheap: one look at the checkout. */
async function isStillBlocked(first: Merge | undefined, tip: string, deps: MergeDeps): Promise<boolean> {
  if (first?.state !== 'waiting' || first.result === null) return false
  const { repository, target, result } = first
  const why = await whyTargetBlocked({ repository, target, from: tip, to: result })
  if (why !== undefined) await holdUp(first, why, deps)
  return why !== undefined
}

/**
 * Tries a batch; an unexpected error leaves the rows in the queue with a reason, and the next try restores their worktrees. A row
 * that somebody else has changed meanwhile is treated the same way.
 */
async function tryBatchSafely(rows: readonly Merge[], tip: string, deps: MergeDeps): Promise<BatchResult> {
  try {
    return await tryBatch(rows, tip, deps)
  } catch (error) {
    const isMoved = error instanceof AppError && error.code === 'merge_moved'
    const state = isMoved ? 'queued' : 'waiting'
    const reason = isMoved ? 'one that it was tried with has gone' : `it failed: ${messageOf(error)}`
    deps.log.error({ merges: rows.map(({ id }) => id), problem: messageOf(error) }, 'merge failed')
    for (const { id } of rows) {
      const now = await deps.store.merges.get(id)
      if (now && MERGES_AT_WORK.some(active => active === now.state)) await changeMerge(now, { state, reason }, deps)
    }
    return { kind: isMoved ? 'again' : 'waits' }
  }
}

function whenToLookAgain(rows: readonly Merge[], { clock }: MergeDeps): { lookAgainAt?: number } {
  const waiting = rows.filter(({ state }) => state === 'waiting')
  if (waiting.length === 0) return {}
  const age = clock.now() - Math.min(...waiting.map(({ updated_at }) => updated_at))
  return { lookAgainAt: clock.now() + Math.min(LATEST_MS, Math.max(SOONEST_MS, age / 4)) }
}

/**
 * Recovers after a death of the daemon: a merge that was under way is finished where git says that it happened, and queued again
 * where it did not; checkouts that were left half moved are repaired. Called once, before any queue is advanced.
 */
export async function recoverMerges(deps: MergeDeps): Promise<void> {
  for (const lane of await deps.store.merges.lanes()) {
    const checkouts = (await findCheckouts(lane.repository, lane.target)) ?? []
    for (const checkout of checkouts) await repairCheckout(checkout)
  }
  for (const merge of await deps.store.merges.list({ states: MERGES_AT_WORK })) await recoverMerge(merge, deps)
  for (const merge of await deps.store.merges.toClean()) await cleanUp(merge, deps)
}

async function recoverMerge(merge: Merge, deps: MergeDeps): Promise<void> {
  // Staleness is checked when the merge is tried: what git has already done stays done.
  const step = nextMergeStep(merge, await readMergeFacts(merge, false))
  if (step.kind === 'finish') return finish([{ merge, result: step.result }], deps)
  const worktree = await findUsableWorktree(merge, deps)
  const why = worktree && (await restoreAfterDeath(merge, worktree))
  if (why !== undefined) return giveUp(merge, why, deps)
  const reason = 'the daemon ended while it was being merged'
  await changeMerge(merge, { state: 'queued', batch: null, result: null, reason }, deps)
}
