import { crashPoint } from '../../base/crash-point.ts'
import { messageOf, unreachable } from '../../base/errors.ts'
import type { Concerns, VerificationResult } from '../../domain/evidence.ts'
import type { Conflict, Merge } from '../../domain/merge.ts'
import type { Tx } from '../../store/store.ts'
import { deleteBranch, isAncestorOrSame, readBranchTips } from '../git/refs.ts'
import { removeWorktree } from '../worktrees/remove-worktree.ts'
import { keepSlot } from '../worktrees/slots.ts'
import {
  appendHeldUp,
  changeMerge,
  changeMergeIn,
  findMergeWorktree,
  type MergeDeps,
  type MergePatch,
} from './merge-state.ts'

/** What became of a merge. Its row does not say so yet: the caller records it with `settleOutcomes`. */
export type MergeOutcome =
  /** The target holds the work, as the commit `result`. */
  | { kind: 'merged'; merge: Merge; result: string }
  /** A pull request is open at `url`. */
  | { kind: 'proposed'; merge: Merge; url: string }
  /** The gates passed before but fail on the current target. The worktree holds the state that fails. */
  | { kind: 'refused'; merge: Merge; result: VerificationResult }
  /** The gates passed on the current target, with something that a person has to accept first. */
  | { kind: 'unaccepted'; merge: Merge; concerns: Concerns }
  /** The unfinished rebase or merge is in the worktree, for the task's own session to resolve. */
  | { kind: 'conflicted'; merge: Merge; conflict: Conflict }
  /** A person has to look. The worktree stays as it is. */
  | { kind: 'given_up'; merge: Merge; why: string }

/**
 * Records what became of merges, then cleans up after those that are in their target. `moveTask` runs in the transaction that
 * changes the rows, so that task and merge never contradict each other; not for a row that somebody else changed first.
 */
export async function settleOutcomes(
  outcomes: readonly MergeOutcome[],
  deps: MergeDeps,
  moveTask: (outcome: MergeOutcome, tx: Tx) => Promise<void>,
): Promise<void> {
  if (outcomes.length === 0) return
  const isMerged = outcomes.some(({ kind }) => kind === 'merged')
  if (isMerged) crashPoint('merge.before-commit')
  const merged = await deps.store.transaction(async tx => {
    const rows: Merge[] = []
    for (const outcome of outcomes) {
      const merge = await recordOutcome(outcome, deps, tx)
      if (!merge) continue
      await moveTask({ ...outcome, merge }, tx)
      if (outcome.kind !== 'merged') continue
      rows.push(merge)
      await keepSlot({ task: merge.task_id, attempt: merge.attempt }, deps, tx)
    }
    return rows
  })
  if (isMerged) crashPoint('merge.after-commit')
  for (const merge of merged) await cleanUp(merge, deps)
}

/** Writes an outcome to the row of its merge. Returns the changed row; undefined if somebody else changed it first. */
async function recordOutcome(outcome: MergeOutcome, deps: MergeDeps, tx: Tx): Promise<Merge | undefined> {
  const { id, task_id: task, target } = outcome.merge
  if (outcome.kind === 'given_up') deps.log.warn({ merge: id, task, why: outcome.why }, 'merge given up')
  const changed = await changeMergeIn(outcome.merge, patchFor(outcome), deps, tx)
  if (changed && outcome.kind === 'merged') {
    const body = { task, target, commit: outcome.result }
    await tx.append([{ actor: 'daemon', subject: task, kind: 'merge.landed', body }])
  }
  return changed
}

function patchFor(outcome: MergeOutcome): MergePatch {
  const { rounds, target } = outcome.merge
  switch (outcome.kind) {
    case 'merged':
      return { state: 'merged', result: outcome.result, reason: null }
    case 'proposed':
      return { state: 'proposed', reason: outcome.url }
    case 'refused':
      return { state: 'failed', reason: `on top of ${target} the gates fail: ${firstProblem(outcome.result)}` }
    case 'conflicted':
      return {
        state: 'conflicted',
        reason: `conflicts with ${target} in ${listFiles(outcome.conflict)}`,
        rounds: rounds + 1,
      }
    case 'unaccepted':
      return { state: 'failed', reason: `on top of ${target} a person has to accept it: ${outcome.concerns.why}` }
    case 'given_up':
      return { state: 'failed', reason: outcome.why }
    default:
      return unreachable(outcome)
  }
}

/** How often a task's session is given a conflict before a person is. */
const MAX_CONFLICT_ROUNDS = 5

/** The outcome of a merge that conflicts with its target. */
export function conflictOutcome(merge: Merge, conflict: Conflict): MergeOutcome {
  if (merge.rounds < MAX_CONFLICT_ROUNDS) return { kind: 'conflicted', merge, conflict }
  const why = `after ${MAX_CONFLICT_ROUNDS} rounds it still conflicts with ${merge.target} in ${listFiles(conflict)}`
  return { kind: 'given_up', merge, why }
}

/** The outcome of a merge whose gates do not pass on the current target. */
export function refusalOutcome(merge: Merge, result: VerificationResult): MergeOutcome {
  if (result.concerns) return { kind: 'unaccepted', merge, concerns: result.concerns }
  if (result.status !== 'broken') return { kind: 'refused', merge, result }
  const problem = firstProblem(result)
  // Otherwise the work itself was refused, whatever its gates said.
  const isGate = result.checks.some(({ status }) => status === 'broken')
  return { kind: 'given_up', merge, why: isGate ? `the gates could not run: ${problem}` : problem }
}

function listFiles({ files }: Conflict): string {
  return files.map(({ path }) => path).join(', ')
}

function firstProblem({ next_steps, findings }: VerificationResult): string {
  return next_steps[0] ?? findings.find(({ weight }) => weight === 'block')?.text ?? 'no reason was given'
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

/** Removes worktree and branch of a merge that is in its target. What cannot be removed now is tried again at the daemon's next start. */
export async function cleanUp(merge: Merge, deps: MergeDeps): Promise<void> {
  try {
    const worktree = await findMergeWorktree(merge, deps)
    crashPoint('merge.before-remove')
    const removal = worktree && (await removeWorktree(worktree, deps, { landed: merge.head ?? undefined }))
    crashPoint('merge.after-remove')
    if (removal?.kind === 'kept') return
    // Otherwise it was removed with the worktree, or goes when its slot does or changes its branch.
    if (removal?.kind !== 'removed' && !(await isIdle(merge, deps))) await dropBranch(merge)
    await changeMerge(merge, { cleaned_at: deps.clock.now() }, deps)
  } catch (error) {
    // The work is in the target and the task is done: leftovers are no failure of either.
    deps.log.warn({ merge: merge.id, task: merge.task_id, problem: messageOf(error) }, 'merged work left behind')
  }
}

async function isIdle({ task_id: task, attempt }: Merge, { store }: MergeDeps): Promise<boolean> {
  const state = (await store.worktrees.get({ task, attempt }))?.state
  return state === 'idle' || state === 'leaving'
}

/** Deletes the branch if the target or the result holds all of it. */
async function dropBranch({ repository, branch, target, result }: Merge): Promise<void> {
  const tips = await readBranchTips(repository, [branch, target])
  const [tip, into] = [tips.get(branch), tips.get(target)]
  if (tip === undefined || into === undefined || result === null) return
  const isIn = (await isAncestorOrSame(repository, tip, into)) || (await isAncestorOrSame(repository, tip, result))
  if (isIn) await deleteBranch(repository, branch)
}
