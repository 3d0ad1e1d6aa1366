import { RETRY_MS } from '../../base/clock.ts'
import { AppError, messageOf, unreachable } from '../../base/errors.ts'
import { KeyedWorker } from '../../base/keyed-worker.ts'
import {
  concernsAbout,
  findFailedBefore,
  hasFailed,
  isProvenBy,
  type VerificationResult,
} from '../../domain/evidence.ts'
import type { Merge } from '../../domain/merge.ts'
import type { Verification } from '../../domain/task.ts'
import { hasChangedNothing } from '../../domain/worktree.ts'
import type { Tx } from '../../store/store.ts'
import type { MergeQueueKey } from '../../store/task-stores.ts'
import { findGitOperation } from '../../workspace/git/checkout-state.ts'
import type { PreparedMerge } from '../../workspace/merge/attempt.ts'
import type { MergeDeps } from '../../workspace/merge/merge-state.ts'
import { cleanUp, type MergeOutcome, settleOutcomes } from '../../workspace/merge/outcomes.ts'
import { MergeQueue, type QueueStep, recoverMerges } from '../../workspace/merge/queue.ts'
import type { CompletionDeps } from './context.ts'
import { askAcceptance, askPerson, finishTask, refuseWork, sendBack } from './moves.ts'
import { conflictReport, describeConcerns, failureLine, failureReport } from './report-text.ts'
import {
  acceptedConcerns,
  countRound,
  describeConflict,
  describeWorktree,
  type FinishedWork,
  findMergingWork,
  needsVerification,
} from './work.ts'

export type MergeQueuesDeps = Pick<
  CompletionDeps,
  'supervisor' | 'settingsOf' | 'verify' | 'batchOf' | 'wake' | 'describeUnproven'
>

/**
 * Drives the merge queues, one step at a time in each. A step returns the outcomes of merges and what the queue needs next. This
 * records the outcomes together with the changes of their tasks, and then does what the queue needs.
 */
export class MergeQueues {
  readonly #deps: MergeQueuesDeps
  readonly #merging: MergeDeps
  readonly #worker: KeyedWorker<MergeQueueKey>
  /** The verifications that run for a queue, by task. */
  readonly #verifications = new Map<string, AbortController>()

  constructor(deps: MergeQueuesDeps) {
    const { supervisor, wake } = deps
    const { store, clock } = supervisor.deps
    this.#deps = deps
    this.#merging = {
      ...{ store, clock, log: supervisor.log, env: supervisor.prepareDeps.env },
      isStale: async (merge, tx) => (await findMergingWork(merge, store, tx)) === undefined,
    }
    this.#worker = new KeyedWorker<MergeQueueKey>(
      {
        work: async (queue, signal) => {
          const checkAgainAt = await this.advance(queue, signal)
          wake()
          return checkAgainAt === undefined ? undefined : checkAgainAt - clock.now()
        },
        failed: ({ repository, target }, error) => {
          supervisor.log.error({ repository, target, problem: messageOf(error), error }, 'the queue could not go on')
          wake()
          return RETRY_MS
        },
      },
      ({ repository, target }) => JSON.stringify([repository, target]),
    )
  }

  /** Something in a queue has changed. */
  wake(queue: MergeQueueKey): void {
    void this.#worker.wake(queue)
  }

  /** Wakes every queue in which a merge is not over. */
  async wakeAll(): Promise<void> {
    for (const queue of await this.#merging.store.merges.queues()) this.wake(queue)
  }

  /** Resolves when nothing happens in a queue. */
  idle(queue: MergeQueueKey): Promise<void> {
    return this.#worker.idle(queue)
  }

  close(): Promise<void> {
    return this.#worker.close()
  }

  /** Ends the gates that run for a task in its queue. */
  interrupt(task: string): void {
    this.#verifications.get(task)?.abort()
  }

  /** Removes worktree and branch of a merge that is in its target. */
  cleanUp(merge: Merge): Promise<void> {
    return cleanUp(merge, this.#merging)
  }

  /** Decides from what git says what became of merges that an earlier life of the daemon left unfinished. */
  async recover(): Promise<void> {
    for (const outcome of await recoverMerges(this.#merging)) await this.#settle([outcome])
    for (const merge of await this.#merging.store.merges.toClean()) await cleanUp(merge, this.#merging)
  }

  /** Takes steps in a queue until nothing in it can go on. Returns when to look at it again, if nothing wakes it before. */
  async advance(key: MergeQueueKey, signal: AbortSignal): Promise<number | undefined> {
    const queue = new MergeQueue(key, await this.#deps.batchOf(key), this.#merging)
    let step: QueueStep = { kind: 'again', outcomes: [] }
    while (step.kind !== 'wait') step = await this.#act(step, { queue, signal }).catch(error => queue.fail(error))
    return step.checkAgainAt
  }

  /** Does what a step says, and takes the next one. After an abort no other merge is tried. */
  async #act(
    step: Exclude<QueueStep, { kind: 'wait' }>,
    { queue, signal }: { queue: MergeQueue; signal: AbortSignal },
  ): Promise<QueueStep> {
    await this.#settle(step.outcomes)
    switch (step.kind) {
      case 'again':
        return signal.aborted ? { kind: 'wait', outcomes: [] } : queue.next()
      case 'verify':
        return queue.verified(step, await this.#verify(step.batch.last))
      case 'land':
        return queue.land(step)
      default:
        return unreachable(step)
    }
  }

  #settle(outcomes: readonly MergeOutcome[]): Promise<void> {
    return settleOutcomes(outcomes, this.#merging, (outcome, tx) => this.#moveTask(outcome, tx))
  }

  /** Does to a task what follows from its merge. A task whose person has decided otherwise meanwhile stays as it is. */
  async #moveTask(outcome: MergeOutcome, tx: Tx): Promise<void> {
    const { supervisor, settingsOf } = this.#deps
    const { merge } = outcome
    const work = await findMergingWork(merge, this.#merging.store, tx)
    if (!work) return
    switch (outcome.kind) {
      case 'merged':
      case 'proposed': {
        const verification = await this.#verificationOf(work, tx)
        return finishTask(work, { verification, reason: describeMerged(work, merge) }, supervisor, tx)
      }
      case 'refused': {
        const { result } = outcome
        const { rounds } = await settingsOf(work.session)
        const { failed } = work.progress
        const reason = `on top of ${merge.target}: ${failureLine(result)}`
        if (failed >= rounds) return refuseWork(work, reason, supervisor, tx)
        const report = failureReport(result, { number: failed + 1, of: rounds, onTarget: merge.target })
        return sendBack(
          work,
          { cause: 'gates', reason: `${reason}; sent back`, report, tree: result.tree },
          supervisor,
          tx,
        )
      }
      case 'conflicted': {
        const reason = merge.reason ?? `conflicts with ${merge.target}`
        const report = conflictReport({ conflict: outcome.conflict, missing: [], target: merge.target })
        return sendBack(work, { cause: 'conflict', reason, report }, supervisor, tx)
      }
      case 'unaccepted':
        return askAcceptance(work, outcome.concerns, supervisor, tx)
      case 'given_up': {
        const isUnfinished = work.worktree && (await findGitOperation(work.worktree.top))
        const next = isUnfinished ? describeConflict(work) : describeWorktree(work)
        return askPerson(work, `It could not be merged: ${outcome.why}. ${next}`, supervisor, tx)
      }
      default:
        return unreachable(outcome)
    }
  }

  /** Runs the gates on a commit that a queue has made, in its worktree. It counts as a round of its own. */
  async #verify({ merge, worktree, result: commit }: PreparedMerge): Promise<VerificationResult> {
    const { supervisor, verify, settingsOf } = this.#deps
    const { store } = this.#merging
    const work = await findMergingWork(merge, store)
    if (!work) throw new AppError('task_moved', { id: merge.task_id, state: '', attempt: merge.attempt, session: '' })
    const settings = await settingsOf(work.session)
    if (!needsVerification(work, settings)) return { ...NOT_VERIFIED, commit }
    const counted = await store.transaction(tx => countRound(work, store, tx))
    const ending = new AbortController()
    this.#verifications.set(work.task.id, ending)
    const signal = AbortSignal.any([ending.signal, supervisor.closing])
    const result = await verify({ ...counted, worktree }, counted.progress.verified, signal).finally(() =>
      this.#verifications.delete(work.task.id),
    )
    // The merge stays in the queue and is tried again.
    if ('later' in result) throw new AppError('account_limited', { until: '' })
    const accepted = acceptedConcerns(counted.progress, settings)
    const concerns = concernsAbout(result).filter(text => !accepted.includes(text))
    // A person has accepted the tests that failed before.
    if (concerns.length === 0 && findFailedBefore(result.checks)) return { ...result, status: 'passed' }
    if (result.status !== 'passed' || concerns.length === 0) return result
    const unproven = result.isProven ? { why: '' } : await this.#deps.describeUnproven(work, result)
    // Not `passed`, so that it cannot land.
    return {
      ...result,
      status: 'broken',
      concerns: describeConcerns(work, { ...result, concerns, unproven, settings }),
    }
  }

  /** Whether anything was checked that could have failed. */
  async #verificationOf(work: FinishedWork, tx: Tx): Promise<Verification> {
    if (work.run?.options.verify === false) return 'unverified'
    // Of the whole attempt: the last round may be of several tasks together, which were then merged one by one.
    const rows = await this.#merging.store.evidence.list({ task: work.task.id, attempt: work.task.attempt }, tx)
    const rounds = Object.values(Object.groupBy(rows, ({ round }) => round))
    return rounds.some((round = []) => isProvenBy(round) && !round.some(hasFailed)) ? 'passed' : 'unverified'
  }
}

/** The result for work that is not to be verified: it lands, and nothing is proven. */
const NOT_VERIFIED: Omit<VerificationResult, 'commit'> = {
  ...{ status: 'passed', isProven: false, tree: null, checks: [], findings: [], next_steps: [] },
}

function describeMerged({ worktree }: FinishedWork, merge: Merge): string {
  const { state, reason, target, result } = merge
  if (state === 'proposed') return `proposed: ${reason ?? ''}`
  if (hasChangedNothing(worktree, merge)) return 'it changed nothing, so there was nothing to merge'
  return `merged into ${target} as ${result?.slice(0, 10) ?? ''}`
}
