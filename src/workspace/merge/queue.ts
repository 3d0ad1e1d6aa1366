import { AppError, messageOf } from '../../base/errors.ts'
import { MERGES_AT_WORK, type Merge, type MergeStrategy } from '../../domain/workspace/merge.ts'
import type { Place } from '../../domain/workspace/place.ts'
import type { MergeLane } from '../../store/merges/shapes.ts'
import type { Tx } from '../../store/store.ts'
import { factsOf } from './facts.ts'
import { nextMergeStep } from './next-step.ts'
import type { MergeParts } from './parts.ts'
import { changeRow, changeWithin } from './rows.ts'
import { finish, giveUp, holdUp, refuse } from './steps/endings.ts'
import type { Tried } from './steps/land.ts'
import { tryTogether } from './steps/try-together.ts'
import { targetBlocked } from './target/move-target.ts'

export interface Enqueue {
  strategy: MergeStrategy
  /** The commit that was verified: what `VerificationResult.commit` says. */
  head: string
  /** A person has to look before its turn can come. */
  review?: boolean | undefined
  asPullRequest?: boolean | undefined
}

/**
 * Queues verified work, in the caller's transaction. A task has one merge that is not over: one that comes back from a conflict
 * goes on in its row, asked again for the same work it gives the same, and that of an older attempt gives way.
 */
export async function enqueue(place: Place, wanted: Enqueue, parts: QueueParts & { tx: Tx }): Promise<Merge> {
  const { store, clock, tx } = parts
  const { task: task_id, attempt } = place
  const worktree = await store.worktrees.get({ task: task_id, attempt }, tx)
  if (!worktree) throw new AppError('merge_no_worktree', { task: task_id, attempt })
  const { project, repository, branch, target } = worktree
  const { strategy, head } = wanted
  const state = wanted.review ? 'review' : 'queued'
  const open = await store.merges.open(task_id, tx)
  if (open && open.attempt === attempt) {
    const isAtWork = MERGES_AT_WORK.some(each => each === open.state)
    if (isAtWork || (open.head === head && open.state !== 'conflicted')) return open
    const patch = { state, head, strategy, base: null, result: null, reason: null } as const
    return (await changeWithin(open, patch, parts, tx)) ?? open
  }
  if (open) await changeWithin(open, { state: 'aborted', reason: `attempt ${attempt} took its place` }, parts, tx)
  return store.merges.insert(
    {
      ...{ task_id, attempt, project, repository, branch, target, strategy, state, head },
      ...{ reason: null, base: null, result: null, batch: null, rounds: 0, cleaned_at: null },
      ...{ as_pull_request: wanted.asPullRequest ? 1 : 0, created_at: clock.now(), updated_at: clock.now() },
    },
    tx,
  )
}

type QueueParts = Pick<MergeParts, 'store' | 'clock'>

/** A checkout is looked at again so soon, or later the longer it has stood in the way. */
const SOONEST_MS = 2_000
const LATEST_MS = 60_000

/**
 * Brings forward what waits in one queue until nothing can go on; one caller at a time for each. Where together they do not pass,
 * fewer are tried, half of them each time, until the one is found that is at fault: it goes back alone, the others land.
 */
export async function advanceMerges(lane: MergeLane, parts: MergeParts): Promise<{ lookAgainAt?: number }> {
  let size = parts.batch
  let suspects = 0
  while (!parts.signal?.aborted) {
    const { ready, tip } = await readyIn(lane, size, parts)
    if (ready.length === 0 || tip === null) return lookAgain(await waitingIn(lane, parts), parts)
    if (await isStillBlocked(ready[0], tip, parts)) return lookAgain(await waitingIn(lane, parts), parts)
    const tried = await tryGuarded(together(ready, size), tip, parts)
    if (tried.kind === 'waits') return lookAgain(await waitingIn(lane, parts), parts)
    suspects = tried.kind === 'red' ? tried.count : tried.kind === 'landed' ? suspects - tried.count : 0
    size = suspects > 0 ? Math.ceil(Math.min(size, suspects) / 2) : parts.batch
  }
  return {}
}

/** The first ones, up to so many; what becomes a pull request goes alone. */
function together(ready: readonly Merge[], size: number): Merge[] {
  const alone = ready.findIndex(merge => merge.as_pull_request)
  return ready.slice(0, Math.max(1, alone < 0 ? size : Math.min(size, alone)))
}

/**
 * The first so many whose turn can come, and the target as they were looked at; what git and the store say of the others is
 * carried out on the way.
 */
async function readyIn(
  lane: MergeLane,
  most: number,
  parts: MergeParts,
): Promise<{ ready: Merge[]; tip: string | null }> {
  const ready: Merge[] = []
  let tip: string | null = null
  for (const merge of await waitingIn(lane, parts)) {
    if (ready.length >= most) break
    const isStale = await parts.store.transaction(tx => parts.isStale(merge, tx))
    const facts = await factsOf(merge, isStale)
    const step = nextMergeStep(merge, facts)
    tip ??= facts.target
    if (step.kind === 'finish') await finish([{ merge, result: step.result }], parts)
    else if (step.kind === 'refuse') await refuse(merge, step.why, parts)
    else if (step.kind === 'give_up') await giveUp(merge, step.why, parts)
    else if (step.kind === 'wait') await holdUp(merge, step.why, parts)
    else if (step.kind === 'attempt') ready.push(merge)
  }
  return { ready, tip }
}

function waitingIn(lane: MergeLane, { store }: MergeParts): Promise<Merge[]> {
  return store.merges.list({ lane, states: ['queued', 'waiting'] })
}

/** Whether what held the first one up still does: looked at alone, so that waiting costs one look at the checkout each time. */
async function isStillBlocked(first: Merge | undefined, tip: string, parts: MergeParts): Promise<boolean> {
  if (first?.state !== 'waiting' || first.result === null) return false
  const { repository, target, result } = first
  const why = await targetBlocked({ repository, target, from: tip, to: result })
  if (why !== undefined) await holdUp(first, why, parts)
  return why !== undefined
}

/**
 * A failure that nobody foresaw leaves the rows in the queue and says so; what it left in the worktrees is put right at the next
 * try. So does somebody who has taken one of them away.
 */
async function tryGuarded(rows: readonly Merge[], tip: string, parts: MergeParts): Promise<Tried> {
  try {
    return await tryTogether(rows, tip, parts)
  } catch (error) {
    const isMoved = error instanceof AppError && error.code === 'merge_moved'
    const state = isMoved ? 'queued' : 'waiting'
    const reason = isMoved ? 'one that it was tried with has gone' : `it failed: ${messageOf(error)}`
    parts.log.error({ merges: rows.map(({ id }) => id), problem: messageOf(error) }, 'merge failed')
    for (const { id } of rows) {
      const now = await parts.store.merges.get(id)
      if (now && MERGES_AT_WORK.some(each => each === now.state)) await changeRow(now, { state, reason }, parts)
    }
    return { kind: isMoved ? 'again' : 'waits' }
  }
}

function lookAgain(rows: readonly Merge[], { clock }: MergeParts): { lookAgainAt?: number } {
  const waiting = rows.filter(({ state }) => state === 'waiting')
  if (waiting.length === 0) return {}
  const age = clock.now() - Math.min(...waiting.map(({ updated_at }) => updated_at))
  return { lookAgainAt: clock.now() + Math.min(LATEST_MS, Math.max(SOONEST_MS, age / 4)) }
}
