import { AppError, messageOf } from '../../base/errors.ts'
import { KeyedWorker } from '../../base/keyed-worker.ts'
import { isProvenBy, type VerificationResult } from '../../domain/evidence.ts'
import type { Conflict, Merge, MergeStrategy } from '../../domain/merge.ts'
import { hasChangedNothing, type Worktree } from '../../domain/worktree.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { findGitOperation } from '../../workspace/git/checkout-state.ts'
import type { MergeDeps } from '../../workspace/merge/merge-state.ts'
import { advanceMerges, enqueueMerge, recoverMerges } from '../../workspace/merge/queue.ts'
import type { SupervisorContext } from '../context.ts'
import { askPerson, finishTask, refuseWork, sendBack } from './moves.ts'
import { conflictReport, failureLine, failureReport } from './report-text.ts'
import { type FinishedWork, findWork, needsVerification, resolveWords, worktreeWords } from './work.ts'

/** The settings under which work lands. */
export interface CompletionSettings {
  /** How often a conversation gets a failed verification, or a conflict, back. */
  rounds: number
  merge: { mode: 'auto' | 'pr' | 'off'; strategy: MergeStrategy; review: boolean }
}

/** The queue of a repository and a branch of it. */
export type MergeTarget = Pick<Merge, 'repository' | 'target'>

/** How work stands in the queue: which commit of it, and whether a person has to look first. */
export interface EnqueueOptions {
  settings: CompletionSettings
  head: string
  review: boolean
}

/** What an agent was to finish in a worktree: a rebase that stands still there. */
export type RebaseOutcome =
  | { kind: 'whole' }
  /** The next commit conflicts too, or what was given back is not finished; `missing` says what is. */
  | { kind: 'conflict'; conflict: Conflict | undefined; missing: string[] }
  | { kind: 'broken'; why: string }

/** What becomes of merges; the way there is git's business (`workspace/merge`). */
export interface TaskMerges {
  /** The merge of a task that is not over. */
  open(task: string, tx?: Tx): Promise<Merge | undefined>
  /** The last one there was of a task. */
  last(task: string, tx?: Tx): Promise<Merge | undefined>
  /** Puts work into the queue of its target. */
  enqueue(work: FinishedWork, how: EnqueueOptions, tx: Tx): Promise<Merge>
  /** A person has looked: it stands in the queue now. */
  release(merge: Merge, tx: Tx): Promise<void>
  /** Nobody wants it any more. */
  abort(merge: Merge, why: string, tx: Tx): Promise<void>
  /** Makes what steps can be made in a queue; the time at which it is to be looked at again by the clock. */
  advance(lane: MergeTarget, signal: AbortSignal): Promise<{ lookAgainAt?: number | undefined }>
  /** Ends the gates that run for a task in its queue. */
  interrupt(task: string): void
  /** Queues in which something is not over. */
  lanes(): Promise<MergeTarget[]>
  /** What an earlier life of the daemon left half done is decided from what git says. */
  recover(): Promise<void>
}

/** What landing needs of those around it. */
export interface CompletionDeps {
  supervisor: SupervisorContext
  merges: TaskMerges
  settingsOf(session: SessionRow): Promise<CompletionSettings>
  /** Runs the gates on the work as it lies there. `later`: not now, and when. */
  verify(work: FinishedWork, round: number, signal: AbortSignal): Promise<VerificationResult | { later: number }>
  /** Goes on with the rebase that was left to its agent, if there is one. */
  finishRebase(work: FinishedWork): Promise<RebaseOutcome>
  /** Commits what is left of work that is not to be verified, and names it. */
  commit(work: FinishedWork): Promise<{ head: string } | { problem: string }>
  /** Sessions have a time in their rows now. */
  wake(): void
  /** A task that this run tried is not on its way any more. */
  ended(run: string): void
  /** A session whose task is done may go on with the next of its queue. */
  nudge(session: string): Promise<void>
  /** How many verifications may run at once. */
  atOnce: number
}

/** A queue that could not go on is tried again after this. */
const RETRY_MS = 15_000

/** The queues of targets: in each, one thing happens at a time. */
export function openMergeQueues({ merges, supervisor, wake }: CompletionDeps): KeyedWorker<MergeTarget> {
  const { clock } = supervisor.deps
  return new KeyedWorker<MergeTarget>(
    {
      async work(queue, signal) {
        const { lookAgainAt } = await merges.advance(queue, signal)
        wake()
        return lookAgainAt === undefined ? undefined : lookAgainAt - clock.now()
      },
      failed({ repository, target }, error) {
        supervisor.log.error({ repository, target, problem: messageOf(error), error }, 'the queue could not go on')
        wake()
        return RETRY_MS
      },
    },
    ({ repository, target }) => JSON.stringify([repository, target]),
  )
}

export interface TaskMergesDeps {
  supervisor: SupervisorContext
  settingsOf(work: FinishedWork): Promise<CompletionSettings>
  /** Runs the gates once more, on what lies in the place now. */
  verifyAgain(work: FinishedWork, place: Worktree, commit: string): ReturnType<MergeDeps['verifyAgain']>
  /** Of the project whose work it is. */
  removeWorktree: MergeDeps['removeWorktree']
  propose?: MergeDeps['propose']
  interrupt(task: string): void
  batch(lane: { repository: string; target: string }): Promise<number>
}

/** What becomes of tasks by what the queues of their targets do. */
export function openTaskMerges(deps: TaskMergesDeps): TaskMerges {
  const { store, clock } = deps.supervisor.deps
  return {
    open: (task, tx) => store.merges.open(task, tx),
    last: async (task, tx) => (await store.merges.list({ task, limit: 1 }, tx)).at(-1),
    enqueue: ({ place, session }, { settings, head, review }, tx) => {
      if (!place) throw new AppError('merge_no_worktree', { task: session.task_id ?? '', attempt: '' })
      const { strategy, mode } = settings.merge
      return enqueueMerge(place, { strategy, head, review, asPullRequest: mode === 'pr' }, { store, clock, tx })
    },
    release: (merge, tx) => moved(merge, { state: 'queued', reason: null }, tx),
    abort: (merge, reason, tx) => moved(merge, { state: 'aborted', reason }, tx),
    advance: async (lane, signal) => advanceMerges(lane, await mergeDeps(await deps.batch(lane), signal)),
    interrupt: deps.interrupt,
    lanes: () => store.merges.lanes(),
    recover: async () => recoverMerges(await mergeDeps(1, undefined)),
  }

  async function moved(merge: Merge, patch: Partial<Merge>, tx: Tx): Promise<void> {
    await store.merges.move(merge, { ...patch, updated_at: clock.now() }, tx)
  }

  async function mergeDeps(batch: number, signal: AbortSignal | undefined): Promise<MergeDeps> {
    const { supervisor } = deps
    return {
      ...{ store, clock, log: supervisor.log, batch, signal, removeWorktree: deps.removeWorktree },
      ...(deps.propose && { propose: deps.propose }),
      verifyAgain: async (merge, place, commit) => {
        const work = await merging(merge)
        if (!work)
          throw new AppError('task_moved', { id: merge.task_id, state: '', attempt: merge.attempt, session: '' })
        return deps.verifyAgain(work, place, commit)
      },
      landed: async (merge, tx) => {
        const work = await merging(merge, tx)
        // A person has said what becomes of it: what reached the target stays there.
        if (work)
          await finishTask(
            work,
            { verification: await verificationOf(work, tx), reason: mergedWords(work, merge) },
            supervisor,
            tx,
          )
      },
      sentBack: async (merge, result, tx) => {
        const work = await merging(merge, tx)
        if (!work) return
        const { rounds } = await deps.settingsOf(work)
        const reason = `on top of ${merge.target}: ${failureLine(result)}`
        if (work.note.failed >= rounds) return refuseWork(work, reason, supervisor, tx)
        const told = failureReport(result, { number: work.note.failed + 1, of: rounds, onTarget: merge.target })
        return sendBack(work, { cause: 'gates', reason: `${reason}; sent back`, told }, supervisor, tx)
      },
      conflicted: async (merge, conflict, tx) => {
        const work = await merging(merge, tx)
        if (!work) return
        const reason = merge.reason ?? `conflicts with ${merge.target}`
        const told = conflictReport({ conflict, missing: [], target: merge.target })
        return sendBack(work, { cause: 'conflict', reason, told }, supervisor, tx)
      },
      gaveUp: async (merge, why, tx) => {
        const work = await merging(merge, tx)
        if (!work) return
        const isStanding = work.place && (await findGitOperation(work.place.top))
        const next = isStanding ? resolveWords(work) : worktreeWords(work)
        await askPerson(work, `It could not be merged: ${why}. ${next}`, supervisor, tx)
      },
      isStale: async (merge, tx) => (await merging(merge, tx)) === undefined,
    }
  }

  /** The work that a merge is for, as long as its task waits for that merge: another attempt has another place. */
  async function merging({ task_id, attempt }: Merge, tx?: Tx): Promise<FinishedWork | undefined> {
    const work = await findWork(task_id, store, tx)
    return work?.task.state === 'merging' && work.place?.attempt === attempt ? work : undefined
  }

  /** Whether anything was checked that could have failed. */
  async function verificationOf(work: FinishedWork, tx: Tx) {
    if (!needsVerification(work)) return 'unverified'
    // Of the whole attempt: the last word may be of several tasks together, which were then taken one by one.
    const rows = await store.evidence.list({ task: work.task.id, attempt: work.task.attempt }, tx)
    const rounds = Object.values(Object.groupBy(rows, ({ round }) => round))
    return rounds.some(round => isProvenBy(round ?? [])) ? 'passed' : 'unverified'
  }
}

function mergedWords({ place }: FinishedWork, merge: Merge): string {
  const { state, reason, target, result } = merge
  if (state === 'proposed') return `proposed: ${reason ?? ''}`
  if (hasChangedNothing(place, merge)) return 'it changed nothing, so there was nothing to merge'
  return `merged into ${target} as ${result?.slice(0, 10) ?? ''}`
}
