import { crashPoint } from '../../base/crash-point.ts'
import { messageOf } from '../../base/errors.ts'
import type { VerificationResult } from '../../domain/evidence.ts'
import type { Conflict, Merge } from '../../domain/merge.ts'
import { git } from '../git/git.ts'
import { isAncestorOrSame, readBranchTips } from '../git/refs.ts'
import { appendHeldUp, changeMerge, changeMergeIn, findMergeWorktree, type MergeDeps } from './merge-state.ts'

/** How often a task's conversation is given a conflict before a person is. */
const MAX_CONFLICT_ROUNDS = 5

/** Records that merges are in the target, all in one transaction, then cleans up their worktrees and branches. */
export async function finish(landed: readonly { merge: Merge; result: string }[], deps: MergeDeps): Promise<void> {
  crashPoint('merge.before-commit')
  const merged = await deps.store.transaction(async tx => {
    const done: Merge[] = []
    for (const { merge, result } of landed) {
      const now = await changeMergeIn(merge, { state: 'merged', result, reason: null }, deps, tx)
      if (!now) continue
      const { task_id: task, target } = now
      const body = { task, target, commit: result }
      await tx.append([{ actor: 'daemon', subject: task, kind: 'merge.landed', body }])
      await deps.landed(now, tx)
      done.push(now)
    }
    return done
  })
  crashPoint('merge.after-commit')
  for (const merge of merged) await cleanUp(merge, deps)
}

/** Aborts the merge of a stale attempt; its worktree and branch stay as they are. */
export async function abortStale(merge: Merge, why: string, deps: MergeDeps): Promise<void> {
  await changeMerge(merge, { state: 'aborted', reason: why }, deps)
}

/** Lets a merge wait until something outside changes; the event is appended once for each reason. */
export async function holdUp(merge: Merge, reason: string, deps: MergeDeps): Promise<void> {
  if (merge.state === 'waiting' && merge.reason === reason) return
  await changeMerge(merge, { state: 'waiting', reason }, deps, (now, tx) => appendHeldUp(now, reason, tx))
}

/** Puts merges back into the queue. */
export async function requeue(merges: readonly Merge[], reason: string, deps: MergeDeps): Promise<void> {
  for (const merge of merges) await changeMerge(merge, { state: 'queued', batch: null, reason }, deps)
}

/** Fails a merge, and leaves it to a person. */
export async function giveUp(merge: Merge, why: string, deps: MergeDeps): Promise<void> {
  deps.log.warn({ merge: merge.id, task: merge.task_id, why }, 'merge given up')
  await changeMerge(merge, { state: 'failed', reason: why }, deps, (now, tx) => deps.gaveUp(now, why, tx))
}

/** Sends work back to its task: its gates passed before, but fail on the current target. */
export async function sendBack(merge: Merge, result: VerificationResult, deps: MergeDeps): Promise<void> {
  if (result.status === 'broken') return giveUp(merge, `the gates could not run: ${firstProblem(result)}`, deps)
  const reason = `on top of ${merge.target} the gates fail: ${firstProblem(result)}`
  await changeMerge(merge, { state: 'failed', reason }, deps, (now, tx) => deps.sentBack(now, result, tx))
}

/** Hands a conflict, which is left in the worktree, to the task's own conversation; after `MAX_CONFLICT_ROUNDS` to a person. */
export async function handOverConflict(merge: Merge, conflict: Conflict, deps: MergeDeps): Promise<void> {
  const files = conflict.files.map(({ path }) => path).join(', ')
  const rounds = merge.rounds + 1
  if (rounds > MAX_CONFLICT_ROUNDS) {
    return giveUp(
      merge,
      `after ${MAX_CONFLICT_ROUNDS} rounds it still conflicts with ${merge.target} in ${files}`,
      deps,
    )
  }
  const patch = { state: 'conflicted', reason: `conflicts with ${merge.target} in ${files}`, rounds } as const
  await changeMerge(merge, patch, deps, (now, tx) => deps.conflicted(now, conflict, tx))
}

function firstProblem({ next_steps, findings }: VerificationResult): string {
  return next_steps[0] ?? findings.find(({ weight }) => weight === 'block')?.text ?? 'no reason was given'
}

/** Removes worktree and branch of a merge that landed. What cannot be removed now is tried again at the daemon's next start. */
export async function cleanUp(merge: Merge, deps: MergeDeps): Promise<void> {
  try {
    const worktree = await findMergeWorktree(merge, deps)
    crashPoint('merge.before-remove')
    const landed = merge.head ?? undefined
    const removal = worktree && (await deps.removeWorktree(worktree, { landed }))
    crashPoint('merge.after-remove')
    if (removal?.kind === 'kept') return
    if (removal?.kind !== 'removed') await dropBranch(merge) // otherwise it was removed with the worktree
    await changeMerge(merge, { cleaned_at: deps.clock.now() }, deps)
  } catch (error) {
    // The work is in the target and the task is done: leftovers are no failure of either.
    deps.log.warn({ merge: merge.id, task: merge.task_id, problem: messageOf(error) }, 'merged work left behind')
  }
}

/** Deletes the branch if the target or the result holds all of it. */
async function dropBranch({ repository, branch, target, result }: Merge): Promise<void> {
  const tips = await readBranchTips(repository, [branch, target])
  const [tip, into] = [tips.get(branch), tips.get(target)]
  if (tip === undefined || into === undefined || result === null) return
  const isIn = (await isAncestorOrSame(repository, tip, into)) || (await isAncestorOrSame(repository, tip, result))
  if (isIn) await git(repository, ['branch', '--quiet', '-D', branch])
}
