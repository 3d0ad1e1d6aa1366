import { AppError, messageOf } from '../../base/errors.ts'
import type { VerificationResult } from '../../domain/evidence.ts'
import { MERGES_AT_WORK, type Merge, WAITS_FOR_ACCOUNT } from '../../domain/merge.ts'
import type { MergeStrategy } from '../../domain/option-values.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { Tx } from '../../store/store.ts'
import type { MergeQueueKey } from '../../store/task-stores.ts'
import { askGitLine } from '../git/refs.ts'
import { type BatchBase, concludeBatch, type MergeBatch, prepareBatch } from './attempt.ts'
import {
  changeMerge,
  changeMergeIn,
  findUsableWorktree,
  listPlaces,
  type MergeDeps,
  nextMergeStep,
  readMergeFacts,
} from './merge-state.ts'
import { whyTargetBlocked } from './move-target.ts'
import { abortStale, holdUp, type MergeOutcome } from './outcomes.ts'
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
  const { head } = wanted
  // Settings count as they are when the work is queued, also when it comes back from a conflict.
  const settings = { strategy: wanted.strategy, as_pull_request: wanted.asPullRequest ? 1 : 0 } as const
  const state = wanted.review ? 'review' : 'queued'
  const open = await store.merges.open(task_id, tx)
  if (open && open.attempt === attempt) {
    const isAtWork = MERGES_AT_WORK.some(state => state === open.state)
    if (isAtWork || (open.head === head && open.state !== 'conflicted')) return open
    const patch = { ...settings, state, head, base: null, result: null, reason: null } as const
    return (await changeMergeIn(open, patch, deps, tx)) ?? open
  }
  if (open) await changeMergeIn(open, { state: 'aborted', reason: `attempt ${attempt} took its place` }, deps, tx)
  return store.merges.insert(
    {
      ...{ task_id, attempt, project, repository, branch, target, ...settings, state, head },
      ...{ reason: null, base: null, result: null, batch: null, rounds: 0, cleaned_at: null },
      ...{ created_at: clock.now(), updated_at: clock.now() },
    },
    tx,
  )
}

type QueueDeps = Pick<MergeDeps, 'store' | 'clock'>

/**
 * What a step of a queue came to, and what the caller does next. With every step the caller first records the outcomes
 * (`settleOutcomes`).
 */
export type QueueStep =
  /** Then it calls `next`. */
  | { kind: 'again'; outcomes: MergeOutcome[] }
  /** Then it runs the gates on the last commit of the batch, and passes their result to `verified`. */
  | { kind: 'verify'; outcomes: MergeOutcome[]; batch: MergeBatch }
  /** The gates have already seen the tree of the batch. Then it calls `land`. */
  | { kind: 'land'; outcomes: MergeOutcome[]; batch: MergeBatch }
  /** Nothing can go on before something outside changes; the clock alone says when to look again. */
  | { kind: 'wait'; outcomes: []; checkAgainAt?: number }

type QueueStepOf<Kind extends QueueStep['kind']> = Extract<QueueStep, { kind: Kind }>

/**
 * One pass over the merge queue of a target; there is one at a time for each queue. The caller drives it: it calls `next`, acts on
 * the step, calls the method that belongs to it, and so on until a step says `wait`. An error on the way goes to `fail`. Where
 * merges do not pass together, half as many are tried each time, until the one at fault is found: it is sent back alone, and the
 * others land.
 */
export class MergeQueue {
  readonly #key: MergeQueueKey
  readonly #deps: MergeDeps
  readonly #most: number
  /** How many merges are tried together now, and how many are queued among which one does not pass. */
  #size: number
  #suspects = 0
  /** The merges that are being tried. */
  #tried: readonly Merge[] = []
  /** Merges that wait for a person's own changes to the same files: this pass tries the others. */
  readonly #held = new Set<number>()

  /** At most `most` merges are tried together. */
  constructor(key: MergeQueueKey, most: number, deps: MergeDeps) {
    this.#key = key
    this.#most = most
    this.#size = most
    this.#deps = deps
  }

  /** Finds the merges that can be tried next and puts their work onto the target, in their worktrees. */
  async next(): Promise<QueueStep> {
    this.#tried = []
    const { ready, tip, commons, outcome } = await this.#collectReady()
    if (outcome) return { kind: 'again', outcomes: [outcome] }
    const [first] = ready
    if (!first || tip === null) return this.#wait()
    this.#tried = nextBatch(ready, this.#size)
    const { batch, outcomes } = await prepareBatch(this.#tried, { tip, commons }, this.#deps)
    if (!batch) return this.#again(0, outcomes)
    return { kind: batch.isVerified ? 'land' : 'verify', outcomes, batch }
  }

  /** Lands a batch that passed its gates; otherwise one merge is refused, or several are tried again with fewer others. */
  verified({ batch }: QueueStepOf<'verify'>, result: VerificationResult): Promise<QueueStep> {
    return this.#conclude(batch, result)
  }

  /** Lands a batch whose tree the gates have already seen. */
  land({ batch }: QueueStepOf<'land'>): Promise<QueueStep> {
    return this.#conclude(batch, undefined)
  }

  /**
   * Leaves the merges that are being tried in the queue, with the error as the reason; the next try restores their worktrees. An
   * error that has nothing to do with them is thrown.
   */
  async fail(error: unknown): Promise<QueueStep> {
    if (this.#tried.length === 0) throw error
    const { store, log } = this.#deps
    const isMoved = error instanceof AppError && error.code === 'merge_moved'
    const isClosed = error instanceof AppError && error.code === 'account_limited'
    const failed = isClosed ? WAITS_FOR_ACCOUNT : `it failed: ${messageOf(error)}`
    const reason = isMoved ? 'one that it was tried with has gone' : failed
    const about = { merges: this.#tried.map(({ id }) => id), problem: messageOf(error) }
    if (isClosed) log.info(about, 'merge waits for an account')
    else log.error(about, 'merge failed')
    for (const { id } of this.#tried) {
      const now = await store.merges.get(id)
      if (!now || !MERGES_AT_WORK.some(active => active === now.state)) continue
      if (isMoved) await changeMerge(now, { state: 'queued', reason }, this.#deps)
      else await holdUp(now, reason, this.#deps)
    }
    return isMoved ? this.#again(0) : this.#wait()
  }

  async #conclude(batch: MergeBatch, result: VerificationResult | undefined): Promise<QueueStep> {
    const { kind, outcomes } = await concludeBatch(batch, result, this.#deps)
    if (kind === 'blocked') return this.#wait()
    const count = batch.rows.length
    if (kind === 'held') for (const { merge } of batch.rows) this.#held.add(merge.id)
    const isOver = kind === 'merged' || kind === 'held'
    return this.#again(kind === 'red' ? count : isOver ? this.#suspects - count : 0, outcomes)
  }

  #again(suspects: number, outcomes: MergeOutcome[] = []): QueueStep {
    this.#suspects = suspects
    this.#size = suspects > 0 ? Math.ceil(Math.min(this.#size, suspects) / 2) : this.#most
    return { kind: 'again', outcomes }
  }

  async #wait(): Promise<QueueStep> {
    const { clock } = this.#deps
    const waiting = (await this.#listWaiting()).filter(({ state }) => state === 'waiting')
    if (waiting.length === 0) return { kind: 'wait', outcomes: [] }
    const age = clock.now() - Math.min(...waiting.map(({ updated_at }) => updated_at))
    const checkAgainAt = clock.now() + Math.min(LATEST_MS, Math.max(SOONEST_MS, age / 4))
    return { kind: 'wait', outcomes: [], checkAgainAt }
  }

  /**
   * The first merges that can be tried and the target's commit at that time, or the outcome of a merge before them. A merge that is
   * stale or has to wait is passed over, and its row says why.
   */
  async #collectReady(): Promise<ReadyMerges> {
    const ready: Merge[] = []
    const commons = new Map<number, string | null>()
    let tip: string | null = null
    for (const merge of await this.#listWaiting()) {
      if (this.#held.has(merge.id)) continue
      if (ready.length >= this.#size) break
      const facts = await readMergeFacts(merge, await this.#deps.isStale(merge))
      const step = nextMergeStep(merge, facts)
      tip ??= facts.target
      if (facts.target === tip) commons.set(merge.id, facts.common)
      if (step.kind === 'finish')
        return { ready, tip, commons, outcome: { kind: 'merged', merge, result: step.result } }
      if (step.kind === 'give_up') return { ready, tip, commons, outcome: { kind: 'given_up', merge, why: step.why } }
      if (step.kind === 'refuse') await abortStale(merge, step.why, this.#deps)
      else if (step.kind === 'wait') await holdUp(merge, step.why, this.#deps)
      else if (step.kind === 'attempt') {
        const blocked = await findBlocked(merge, tip, this.#deps)
        if (!blocked) ready.push(merge)
        else if (blocked.overlaps) this.#held.add(merge.id)
        else return { ready: [], tip, commons }
      }
    }
    return { ready, tip, commons }
  }

  #listWaiting(): Promise<Merge[]> {
    return this.#deps.store.merges.list({ queue: this.#key, states: ['queued', 'waiting'] })
  }
}

interface ReadyMerges extends Omit<BatchBase, 'tip'> {
  ready: Merge[]
  tip: string | null
  outcome?: MergeOutcome
}

/** How soon a blocked checkout is checked again: the longer it has been blocked, the later. */
const SOONEST_MS = 2_000
const LATEST_MS = 60_000

/** A remote that could not be reached is not asked every few seconds. */
const PROPOSE_AGAIN_MS = 5 * 60_000

/** The first merges, up to `size`; a merge that becomes a pull request goes alone. */
function nextBatch(ready: readonly Merge[], size: number): Merge[] {
  const alone = ready.findIndex(merge => merge.as_pull_request)
  return ready.slice(0, Math.max(1, alone < 0 ? size : Math.min(size, alone)))
}

/** Why a merge that waits is still blocked. Waiting stays cheap: one look at the checkout, and nothing is tried. */
async function findBlocked(merge: Merge, tip: string | null, deps: MergeDeps) {
  const { repository, target, result, state } = merge
  if (state !== 'waiting' || result === null || tip === null) return undefined
  if (merge.as_pull_request) {
    const isTooSoon = deps.clock.now() - merge.updated_at < PROPOSE_AGAIN_MS
    return isTooSoon ? { why: merge.reason ?? '', overlaps: true } : undefined
  }
  // Others may have landed since the result was made: what they changed is none of this merge.
  const from = (await askGitLine(repository, ['merge-base', tip, result])) ?? tip
  const places = await listPlaces(repository, deps)
  const blocked = await whyTargetBlocked({ repository, target, from, to: result, places })
  if (blocked) await holdUp(merge, blocked.why, deps)
  return blocked
}

/**
 * Recovers after a death of the daemon: a merge that was under way is finished where git says that it happened, and queued again
 * where it did not; checkouts that were left half moved are repaired. Called once, before any queue is advanced. The caller
 * records each outcome.
 */
export async function recoverMerges(deps: MergeDeps): Promise<MergeOutcome[]> {
  for (const queue of await deps.store.merges.queues()) await repairCheckouts(queue, deps)
  const outcomes: MergeOutcome[] = []
  for (const merge of await deps.store.merges.list({ states: MERGES_AT_WORK })) {
    const outcome = await recoverMerge(merge, deps)
    if (outcome) outcomes.push(outcome)
  }
  return outcomes
}

/** Only merges that were landing can have left a checkout half moved. */
async function repairCheckouts(queue: MergeQueueKey, deps: MergeDeps): Promise<void> {
  const { repository, target } = queue
  const rows = await deps.store.merges.list({ queue, states: ['landing'] })
  const landing = rows.flatMap(({ result, as_pull_request }) => (as_pull_request ? [] : (result ?? [])))
  if (landing.length === 0) return
  const checkouts = await findCheckouts(repository, target, await listPlaces(repository, deps))
  for (const checkout of checkouts ?? [])
    await repairCheckout(checkout, landing).catch((error: unknown) => {
      // Its lock stays, holds merges up, and is named to the person.
      deps.log.error({ checkout: checkout.top, problem: messageOf(error) }, 'checkout not repaired')
    })
}

async function recoverMerge(merge: Merge, deps: MergeDeps): Promise<MergeOutcome | undefined> {
  // Staleness is checked when the merge is tried: what git has already done stays done.
  const step = nextMergeStep(merge, await readMergeFacts(merge, false))
  if (step.kind === 'finish') return { kind: 'merged', merge, result: step.result }
  const worktree = await findUsableWorktree(merge, deps)
  const why = worktree && (await restoreAfterDeath(merge, worktree))
  if (why !== undefined) return { kind: 'given_up', merge, why }
  const reason = 'the daemon ended while it was being merged'
  await changeMerge(merge, { state: 'queued', batch: null, result: null, reason }, deps)
  return undefined
}
