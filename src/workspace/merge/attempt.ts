import { crashPoint } from '../../base/crash-point.ts'
import { AppError } from '../../base/errors.ts'
import type { VerificationResult } from '../../domain/evidence.ts'
import type { Conflict, Merge } from '../../domain/merge.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { whyObjectsForged } from '../git/check-objects.ts'
import { committerEnv } from '../git/harden.ts'
import { findMergeBase, isAncestorOrSame, isSameTree } from '../git/refs.ts'
import { noteBases } from '../worktrees/worktree-note.ts'
import { changeMerge, changeMergeIn, findUsableWorktree, listPlaces, type MergeDeps } from './merge-state.ts'
import { moveTarget } from './move-target.ts'
import { abortStale, conflictOutcome, holdUp, type MergeOutcome, refusalOutcome, requeue } from './outcomes.ts'
import { openPullRequest } from './pull-request.ts'
import { formOf, landsVerifiedCommit, replayOnto } from './replay.ts'
import { keepVerified, restoreWork } from './restore-work.ts'

/** Merges that are tried together: each is on top of the one before it, so that the last one holds the work of all. */
export interface MergeBatch {
  rows: readonly PreparedMerge[]
  last: PreparedMerge
  /** The commit of the target under the first of them. */
  tip: string
  /** Whether the gates have already seen exactly the tree of the last one. */
  isVerified: boolean
}

/** A merge whose work is on top of the commit that it has to follow, in its worktree, as the commit `result`. */
export interface PreparedMerge {
  merge: Merge
  worktree: Worktree
  result: string
}

/** The commit of the target, and the commit that each merge has in common with it, by the id of the merge. */
export interface BatchBase {
  tip: string
  commons: ReadonlyMap<number, string | null>
}

/** Puts the work of each merge onto that of the one before it. A merge that conflicts with those before it returns to the queue. */
export async function prepareBatch(
  queued: readonly Merge[],
  { tip, commons }: BatchBase,
  deps: MergeDeps,
): Promise<{ batch: MergeBatch | undefined; outcomes: MergeOutcome[] }> {
  const chain: PreparedMerge[] = []
  const outcomes: MergeOutcome[] = []
  for (const merge of queued) {
    const onto = chain.at(-1)?.result ?? tip
    const known = onto === tip ? commons.get(merge.id) : undefined
    const prepared = await prepareMerge(merge, { onto, tip, common: known ?? undefined }, deps)
    if (prepared.kind === 'ready') chain.push(prepared)
    else if (prepared.kind === 'broken') outcomes.push({ kind: 'given_up', merge: prepared.merge, why: prepared.why })
    else if (prepared.kind === 'conflict' && chain.length === 0) {
      outcomes.push(conflictOutcome(prepared.merge, prepared.conflict))
      break
    } else if (prepared.kind === 'conflict') outcomes.push(...(await returnToQueue(prepared, deps)))
  }
  const rows = await markVerifying(chain, deps)
  const last = rows.at(-1)
  if (!last) return { batch: undefined, outcomes }
  const { head, repository } = last.merge
  const isVerified = head !== null && (await isSameTree(repository, head, last.result))
  return { batch: { rows, last, tip, isVerified }, outcomes }
}

async function returnToQueue(
  { merge, worktree }: Pick<PreparedMerge, 'merge' | 'worktree'>,
  deps: MergeDeps,
): Promise<MergeOutcome[]> {
  const why = await restoreWork(merge, worktree)
  if (why !== undefined) return [{ kind: 'given_up', merge, why }]
  await changeMerge(merge, { state: 'queued', reason: 'it conflicts with one before it, and waits for that one' }, deps)
  return []
}

/** Records that the gates look at the last merge of a chain, for all of the chain. */
async function markVerifying(chain: readonly PreparedMerge[], deps: MergeDeps): Promise<PreparedMerge[]> {
  const batch = chain.length > 1 ? (chain[0]?.merge.id ?? null) : null
  const rows: PreparedMerge[] = []
  for (const prepared of chain) {
    const merge = await changeMerge(prepared.merge, { state: 'verifying', result: prepared.result, batch }, deps)
    if (!merge) throw new AppError('merge_moved', { id: prepared.merge.id })
    rows.push({ ...prepared, merge })
  }
  return rows
}

type MergePreparation =
  | ({ kind: 'ready' } & PreparedMerge)
  | { kind: 'conflict'; merge: Merge; worktree: Worktree; conflict: Conflict }
  | { kind: 'broken'; merge: Merge; why: string }
  /** Somebody else has changed the row meanwhile. */
  | { kind: 'lost' }

/** Records the intent, restores the worktree to the verified work, then puts that work onto a commit. */
async function prepareMerge(
  queued: Merge,
  { onto, tip, common: known }: { onto: string; tip: string; common: string | undefined },
  deps: MergeDeps,
): Promise<MergePreparation> {
  const worktree = await findUsableWorktree(queued, deps)
  const { head } = queued
  if (!worktree || head === null) {
    const why = `the worktree of ${queued.branch} is gone; bring it back with: pcc worktree restore ${queued.task_id}`
    return { kind: 'broken', merge: queued, why }
  }
  const common = known ?? (await findMergeBase(queued.repository, onto, head))
  const base = queued.base ?? (await findBase(queued.repository, { head, worktree, common }))
  const merge = await changeMerge(queued, { state: 'rebasing', base, result: null, reason: null }, deps)
  if (!merge) return { kind: 'lost' }
  crashPoint('merge.after-intent')
  const why = await restoreWork(merge, worktree, queued.result)
  if (why !== undefined) return { kind: 'broken', merge, why }
  await noteBases(worktree.top, [tip, onto])
  const title = await readTitle(merge, deps)
  const isOnTop = common === onto
  // Work that is on top already lands as it is, and nothing is committed.
  const who = isOnTop && formOf(merge.strategy) === 'own commits' ? {} : await committerEnv(merge.repository)
  const replayed = await replayOnto({
    merge: { ...merge, head, base },
    worktree,
    onto,
    isOnTop,
    title,
    who,
  })
  crashPoint('merge.after-rebase')
  switch (replayed.kind) {
    case 'conflict':
      // The agent continues from here in other commits.
      await keepVerified(merge.repository, merge.task_id, head)
      return { kind: 'conflict', merge, worktree, conflict: replayed.conflict }
    case 'broken':
      return { kind: 'broken', merge, why: replayed.why }
    case 'ready':
      // The verified commit is kept, even where the target gets other commits.
      if (replayed.result !== head && !landsVerifiedCommit(merge.strategy)) {
        await keepVerified(merge.repository, merge.task_id, head)
      }
      return { kind: 'ready', merge, worktree, result: replayed.result }
  }
}

/**
 * The commit after which the commits of the branch belong to the task. That is where the branch left the target, unless the
 * target was reset to an older commit since: then it is the commit from which the worktree was made, or the person's dropped
 * commits would come back with the work.
 */
async function findBase(
  repository: string,
  { head, worktree, common }: { head: string; worktree: Worktree; common: string | undefined },
): Promise<string> {
  if (common === undefined) return worktree.base
  const isTargetReset = common !== worktree.base && (await isAncestorOrSame(repository, common, worktree.base))
  return isTargetReset && (await isAncestorOrSame(repository, worktree.base, head)) ? worktree.base : common
}

/** The task's title, cut to one line of at most `MAX_SUBJECT` characters. */
async function readTitle({ task_id }: Merge, { store }: MergeDeps): Promise<string> {
  const title = (await store.tasks.get(task_id))?.title ?? task_id
  const [line = task_id] = title.split('\n')
  return line.length > MAX_SUBJECT ? `${line.slice(0, MAX_SUBJECT - 1)}…` : line
}

const MAX_SUBJECT = 72

/**
 * `merged`: all of the batch is in the target. `red`: they do not pass together, or cannot land together, and each is queued again. `left`: the
 * batch is over in another way, and the queue goes on. `held`: it waits for a person's own changes; others may land. `blocked`:
 * nothing can go on before something outside changes.
 */
export interface BatchResult {
  kind: 'merged' | 'red' | 'left' | 'held' | 'blocked'
  outcomes: MergeOutcome[]
}

/** Moves the target to a batch that passed its gates, or says why not. `result` is undefined if they have seen its tree before. */
export async function concludeBatch(
  batch: MergeBatch,
  result: VerificationResult | undefined,
  deps: MergeDeps,
): Promise<BatchResult> {
  crashPoint('merge.after-verify')
  const { rows, last } = batch
  const looked = result && refuseOtherCommit(result, last.result)
  const hasPassed = looked === undefined || looked.status === 'passed'
  const verified = hasPassed ? ((await refuseForgedObjects(batch)) ?? looked) : looked
  if (verified === undefined || verified.status === 'passed') {
    return last.merge.as_pull_request ? proposePullRequest(last, deps) : land(batch, deps)
  }
  if (rows.length === 1) return { kind: 'left', outcomes: [refusalOutcome(last.merge, verified)] }
  await requeue(mergesOf(rows), 'it is tried again with fewer others: together they do not pass', deps)
  return { kind: 'red', outcomes: [] }
}

/** A result that passed counts only for the commit that is to land: somebody may have written in the worktree meanwhile. */
function refuseOtherCommit(result: VerificationResult, commit: string): VerificationResult {
  if (result.status !== 'passed' || result.commit === commit) return result
  const text =
    'The worktree was changed while it was being merged: the gates looked at another commit than the one to land.'
  return { ...result, ...refusal('merge.another', text) }
}

/** The gates have looked at files on disk; what lands comes out of the repository, where an agent can write. */
async function refuseForgedObjects({ last, tip }: MergeBatch): Promise<VerificationResult | undefined> {
  const { repository, branch } = last.merge
  const why = await whyObjectsForged(repository, tip, last.result)
  if (why === undefined) return undefined
  const text = `Objects of ${branch} in ${repository} are not what their ids say (${why}). Look with: git fsck`
  return { commit: last.result, tree: null, checks: [], ...refusal('git.forged', text) }
}

function refusal(code: string, text: string) {
  const findings = [{ code, weight: 'block' as const, text }]
  return { status: 'broken' as const, isProven: false, findings, next_steps: [text] }
}

/** Moves the target to work that is verified on top of it. The intent is recorded first; only git knows whether it happened. */
async function land({ rows, last, tip }: MergeBatch, deps: MergeDeps): Promise<BatchResult> {
  const { repository, target } = last.merge
  const move = { repository, target, from: tip, to: last.result, message: reflogMessage(rows) }
  const intent = await writeIntent(rows, deps)
  if (intent.kind === 'stale') {
    await abortStale(intent.merge, 'a newer attempt at the task has begun, or the task is over', deps)
    await requeue(mergesExcept(rows, intent.merge), 'one that it was tried with has gone', deps)
    return { kind: 'left', outcomes: [] }
  }
  crashPoint('merge.before-ref')
  const moved = await moveTarget({ ...move, places: await listPlaces(repository, deps) })
  crashPoint('merge.after-ref')
  if (moved.kind === 'moved') {
    return {
      kind: 'merged',
      outcomes: intent.rows.map(({ merge, result }) => ({ kind: 'merged', merge, result })),
    }
  }
  // One of them is in the way of a person's changes: the others land when they are tried without it.
  if (moved.kind === 'blocked' && moved.overlaps && rows.length > 1) {
    await requeue(mergesOf(intent.rows), 'it is tried again with fewer others: files of one are being changed', deps)
    return { kind: 'red', outcomes: [] }
  }
  if (moved.kind === 'blocked') {
    for (const { merge } of intent.rows) await holdUp(merge, moved.why, deps)
    return { kind: moved.overlaps ? 'held' : 'blocked', outcomes: [] }
  }
  await requeue(mergesOf(intent.rows), `${target} has moved meanwhile`, deps)
  return { kind: 'left', outcomes: [] }
}

type MergeIntent = { kind: 'written'; rows: PreparedMerge[] } | { kind: 'stale'; merge: Merge }

/** Checks that no attempt is stale in the same transaction that records that they land. */
function writeIntent(rows: readonly PreparedMerge[], deps: MergeDeps): Promise<MergeIntent> {
  return deps.store.transaction(async (tx): Promise<MergeIntent> => {
    for (const { merge } of rows) if (await deps.isStale(merge, tx)) return { kind: 'stale', merge }
    const written: PreparedMerge[] = []
    for (const row of rows) {
      const merge = await changeMergeIn(row.merge, { state: 'landing' }, deps, tx)
      if (!merge) throw new AppError('merge_moved', { id: row.merge.id })
      written.push({ ...row, merge })
    }
    return { kind: 'written', rows: written }
  })
}

function mergesOf(rows: readonly PreparedMerge[]): Merge[] {
  return rows.map(({ merge }) => merge)
}

function mergesExcept(rows: readonly PreparedMerge[], excluded: Merge): Merge[] {
  return mergesOf(rows).filter(({ id }) => id !== excluded.id)
}

function reflogMessage(rows: readonly PreparedMerge[]): string {
  return `pcc: merge ${rows.map(({ merge }) => merge.task_id).join(', ')}`
}

/** Opens a pull request instead of moving the target; worktree and branch stay, for changes that reviewers may ask for. */
async function proposePullRequest(row: PreparedMerge, deps: MergeDeps): Promise<BatchResult> {
  const intent = await writeIntent([row], deps)
  if (intent.kind === 'stale') await abortStale(intent.merge, 'a newer attempt at the task has begun', deps)
  const merge = intent.kind === 'written' ? intent.rows[0]?.merge : undefined
  if (!merge) return { kind: 'left', outcomes: [] }
  const title = await readTitle(merge, deps)
  const before = (await deps.store.merges.list({ task: merge.task_id, states: ['proposed'] })).at(-1)
  const pushed = before ? (before.result ?? before.head ?? undefined) : undefined
  const opened = await openPullRequest({ merge, worktree: row.worktree, title, pushed }, deps.env)
  if (opened.ok) return { kind: 'left', outcomes: [{ kind: 'proposed', merge, url: opened.url }] }
  // The remote or its login is mended outside: the work is verified, and is proposed then.
  await holdUp(merge, `no pull request: ${opened.why}`, deps)
  return { kind: 'held', outcomes: [] }
}
