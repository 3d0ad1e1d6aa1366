import { AppError } from '../../../base/errors.ts'
import type { Merge } from '../../../domain/workspace/merge.ts'
import { changedNothing, type Place } from '../../../domain/workspace/place.ts'
import { isProvenBy } from '../../../domain/workspace/proven.ts'
import type { Tx } from '../../../store/store.ts'
import type { MergeParts } from '../../../workspace/merge/parts.ts'
import { advanceMerges, enqueue } from '../../../workspace/merge/queue.ts'
import { recoverMerges } from '../../../workspace/merge/recover.ts'
import { standingIn } from '../../../workspace/merge/work/standing.ts'
import type { Floor } from '../../floor.ts'
import type { LandingSettings, MergeDesk } from '../parts.ts'
import { askPerson, finish, refuse, sendBack } from '../steps/moves.ts'
import { conflictReport, failureLine, failureReport } from '../steps/report-text.ts'
import { isVerified, resolveWords, type Work, workOf, worktreeWords } from '../work.ts'

export interface MergeDeskParts {
  floor: Floor
  settingsOf(work: Work): Promise<LandingSettings>
  /** Runs the gates once more, on what lies in the place now. */
  verifyAgain(work: Work, place: Place, commit: string): ReturnType<MergeParts['verifyAgain']>
  /** Of the project whose work it is. */
  removePlace: MergeParts['removePlace']
  propose?: MergeParts['propose']
  interrupt(task: string): void
  batch(lane: { repository: string; target: string }): Promise<number>
}

/** What becomes of tasks by what the queues of their targets do. */
export function openMergeDesk(parts: MergeDeskParts): MergeDesk {
  const { store, clock } = parts.floor.parts
  return {
    open: (task, tx) => store.merges.open(task, tx),
    last: async (task, tx) => (await store.merges.list({ task, limit: 1 }, tx)).at(-1),
    enqueue: ({ place, session }, { settings, head, review }, tx) => {
      if (!place) throw new AppError('merge_no_worktree', { task: session.task_id ?? '', attempt: '' })
      const { strategy, mode } = settings.merge
      return enqueue(place, { strategy, head, review, asPullRequest: mode === 'pr' }, { store, clock, tx })
    },
    release: (merge, tx) => moved(merge, { state: 'queued', reason: null }, tx),
    abort: (merge, reason, tx) => moved(merge, { state: 'aborted', reason }, tx),
    advance: async (lane, signal) => advanceMerges(lane, await mergeParts(await parts.batch(lane), signal)),
    interrupt: parts.interrupt,
    lanes: () => store.merges.lanes(),
    recover: async () => recoverMerges(await mergeParts(1, undefined)),
  }

  async function moved(merge: Merge, patch: Partial<Merge>, tx: Tx): Promise<void> {
    await store.merges.move(merge, { ...patch, updated_at: clock.now() }, tx)
  }

  async function mergeParts(batch: number, signal: AbortSignal | undefined): Promise<MergeParts> {
    const { floor } = parts
    return {
      ...{ store, clock, log: floor.log, batch, signal, removePlace: parts.removePlace },
      ...(parts.propose && { propose: parts.propose }),
      verifyAgain: async (merge, place, commit) => {
        const work = await merging(merge)
        if (!work)
          throw new AppError('task_moved', { id: merge.task_id, state: '', attempt: merge.attempt, session: '' })
        return parts.verifyAgain(work, place, commit)
      },
      landed: async (merge, tx) => {
        const work = await merging(merge, tx)
        // A person has said what becomes of it: what reached the target stays there.
        if (work)
          await finish(
            work,
            { verification: await verificationOf(work, tx), reason: landedWords(work, merge) },
            floor,
            tx,
          )
      },
      sentBack: async (merge, result, tx) => {
        const work = await merging(merge, tx)
        if (!work) return
        const { rounds } = await parts.settingsOf(work)
        const reason = `on top of ${merge.target}: ${failureLine(result)}`
        if (work.note.failed >= rounds) return refuse(work, reason, floor, tx)
        const told = failureReport(result, { number: work.note.failed + 1, of: rounds, onTarget: merge.target })
        return sendBack(work, { cause: 'gates', reason: `${reason}; sent back`, told }, floor, tx)
      },
      conflicted: async (merge, conflict, tx) => {
        const work = await merging(merge, tx)
        if (!work) return
        const reason = merge.reason ?? `conflicts with ${merge.target}`
        const told = conflictReport({ conflict, missing: [], target: merge.target })
        return sendBack(work, { cause: 'conflict', reason, told }, floor, tx)
      },
      gaveUp: async (merge, why, tx) => {
        const work = await merging(merge, tx)
        if (!work) return
        const isStanding = work.place && (await standingIn(work.place.top))
        const next = isStanding ? resolveWords(work) : worktreeWords(work)
        await askPerson(work, `It could not be merged: ${why}. ${next}`, floor, tx)
      },
      isStale: async (merge, tx) => (await merging(merge, tx)) === undefined,
    }
  }

  /** The work that a merge is for, as long as its task waits for that merge: another attempt has another place. */
  async function merging({ task_id, attempt }: Merge, tx?: Tx): Promise<Work | undefined> {
    const work = await workOf(task_id, store, tx)
    return work?.task.state === 'merging' && work.place?.attempt === attempt ? work : undefined
  }

  /** Whether anything was checked that could have failed. */
  async function verificationOf(work: Work, tx: Tx) {
    if (!isVerified(work)) return 'unverified'
    // Of the whole attempt: the last word may be of several tasks together, which were then taken one by one.
    const rows = await store.evidence.list({ task: work.task.id, attempt: work.task.attempt }, tx)
    const rounds = Object.values(Object.groupBy(rows, ({ round }) => round))
    return rounds.some(round => isProvenBy(round ?? [])) ? 'passed' : 'unverified'
  }
}

function landedWords({ place }: Work, merge: Merge): string {
  const { state, reason, target, result } = merge
  if (state === 'proposed') return `proposed: ${reason ?? ''}`
  if (changedNothing(place, merge)) return 'it changed nothing, so there was nothing to merge'
  return `merged into ${target} as ${result?.slice(0, 10) ?? ''}`
}
