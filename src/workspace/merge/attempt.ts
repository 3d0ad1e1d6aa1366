import { crashPoint } from '../../base/crash-point.ts'
import { AppError } from '../../base/errors.ts'
import type { VerificationResult } from '../../domain/evidence.ts'
import type { Conflict, Merge } from '../../domain/merge.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { committerEnv } from '../git/harden.ts'
import { askGitLine, isAncestorOrSame, isSameTree } from '../git/refs.ts'
import { noteBases } from '../worktrees/worktree-note.ts'
import { changeMerge, changeMergeIn, findUsableWorktree, type MergeDeps } from './merge-state.ts'
import { moveTarget } from './move-target.ts'
import { abortStale, finish, giveUp, handOverConflict, holdUp, requeue, sendBack } from './outcomes.ts'
import { replayOnto } from './rebase.ts'
import { keepVerified, restoreWork } from './restore-work.ts'

/**
 * Tries merges together: the work of each is put onto that of the one before it, so that the last worktree holds the
 * combination, which is verified once. A merge that conflicts with those before it returns to the queue.
 */
export async function tryBatch(queued: readonly Merge[], tip: string, deps: MergeDeps): Promise<BatchResult> {
  const chain: PreparedMerge[] = []
  for (const merge of queued) {
    const onto = chain.at(-1)?.result ?? tip
    const prepared = await prepareMerge(merge, { onto, tip }, deps)
    if (prepared.kind === 'ready') chain.push(prepared)
    else if (prepared.kind === 'broken') await giveUp(prepared.merge, prepared.why, deps)
    else if (prepared.kind === 'conflict' && chain.length === 0) {
      await handOverConflict(prepared.merge, prepared.conflict, deps)
      return { kind: 'settled' }
    } else if (prepared.kind === 'conflict') await returnToQueue(prepared.merge, prepared.worktree, deps)
  }
  const { rows, result } = await verifyBatchAgain(chain, deps)
  crashPoint('merge.after-verify')
  const [first] = rows
  if (!first) return { kind: 'settled' }
  if (result === undefined || result.status === 'passed') {
    return first.merge.as_pull_request ? proposePullRequest(first, deps) : land(rows, tip, deps)
  }
  if (rows.length === 1) {
    await sendBack(first.merge, result, deps)
    return { kind: 'settled' }
  }
  await requeue(mergesOf(rows), 'it is tried again with fewer others: together they do not pass', deps)
  return { kind: 'red', count: rows.length }
}

async function returnToQueue(merge: Merge, worktree: PreparedMerge['worktree'], deps: MergeDeps): Promise<void> {
  const why = await restoreWork(merge, worktree)
  if (why !== undefined) return giveUp(merge, why, deps)
  await changeMerge(merge, { state: 'queued', reason: 'it conflicts with one before it, and waits for that one' }, deps)
}

/** A merge whose work is already on top of the commit that it has to follow. */
interface PreparedMerge {
  merge: Merge
  worktree: Worktree
  result: string
}

export type MergePreparation =
  | ({ kind: 'ready' } & PreparedMerge)
  | { kind: 'conflict'; merge: Merge; worktree: Worktree; conflict: Conflict }
  | { kind: 'broken'; merge: Merge; why: string }
  /** Somebody else has changed the row meanwhile. */
  | { kind: 'lost' }

/** Records the intent, restores the worktree to the verified work, then puts that work onto a commit. */
async function prepareMerge(
  queued: Merge,
  { onto, tip }: { onto: string; tip: string },
  deps: MergeDeps,
): Promise<MergePreparation> {
  const worktree = await findUsableWorktree(queued, deps)
  const { head } = queued
  if (!worktree || head === null) {
    const why = `the worktree of ${queued.branch} is gone; bring it back with: pcc worktree restore ${queued.task_id}`
    return { kind: 'broken', merge: queued, why }
  }
  const common = await askGitLine(queued.repository, ['merge-base', onto, head])
  const base = queued.base ?? (await findBase(queued.repository, { head, worktree, common }))
  const merge = await changeMerge(queued, { state: 'rebasing', base, result: null, reason: null }, deps)
  if (!merge) return { kind: 'lost' }
  crashPoint('merge.after-intent')
  const why = await restoreWork(merge, worktree, queued.result)
  if (why !== undefined) return { kind: 'broken', merge, why }
  await noteBases(worktree.top, [tip, onto])
  const title = await readTitle(merge, deps)
  const who = await committerEnv(merge.repository)
  const replayed = await replayOnto({
    merge: { ...merge, head, base },
    worktree,
    onto,
    isOnTop: common === onto,
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
      // The verified commit is kept, even where the target gets the work in another form.
      if (replayed.result !== head && merge.strategy !== 'merge') {
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

/** The task's title, cut to one line of at most `MAX_TITLE` characters. */
async function readTitle({ task_id }: Merge, { store }: MergeDeps): Promise<string> {
  const title = (await store.tasks.get(task_id))?.title ?? task_id
  const [line = task_id] = title.split('\n')
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1)}…` : line
}

const MAX_TITLE = 72

export interface ReverifiedBatch {
  rows: PreparedMerge[]
  /** Undefined where the gates have already seen exactly this tree. */
  result: VerificationResult | undefined
}

/** Runs the gates on the last worktree of a chain, unless its tree is the one that they have already seen. */
async function verifyBatchAgain(chain: readonly PreparedMerge[], deps: MergeDeps): Promise<ReverifiedBatch> {
  const batch = chain.length > 1 ? (chain[0]?.merge.id ?? null) : null
  const rows: PreparedMerge[] = []
  for (const prepared of chain) {
    const merge = await changeMerge(prepared.merge, { state: 'verifying', result: prepared.result, batch }, deps)
    if (!merge) throw new AppError('merge_moved', { id: prepared.merge.id })
    rows.push({ ...prepared, merge })
  }
  const last = rows.at(-1)
  if (!last) return { rows, result: undefined }
  const { repository, head } = last.merge
  if (head !== null && (await isSameTree(repository, head, last.result))) return { rows, result: undefined }
  const result = await deps.verifyAgain(last.merge, last.worktree, last.result)
  return { rows, result: result.status === 'passed' && result.commit !== last.result ? asOtherCommit(result) : result }
}

/** Somebody wrote in the worktree meanwhile: the gates saw another commit than the one that is to land. */
function asOtherCommit(result: VerificationResult): VerificationResult {
  const text =
    'The worktree was changed while it was being merged: the gates looked at another commit than the one to land.'
  return {
    ...result,
    ...{ status: 'broken', isProven: false, next_steps: [text] },
    findings: [{ code: 'merge.another', weight: 'block', text }],
  }
}

/**
 * `landed`: `count` merges are in the target. `settled`: one merge left the queue for its agent or a person, and the queue goes
 * on. `red`: `count` merges do not pass together, and each of them is queued again. `waits`: nothing can go on before something
 * outside changes.
 */
export type BatchResult = { kind: 'landed' | 'red'; count: number } | { kind: 'settled' | 'again' } | { kind: 'waits' }

/** Moves the target to work that is verified on top of it. The intent is recorded first; only git knows whether it happened. */
async function land(rows: readonly PreparedMerge[], tip: string, deps: MergeDeps): Promise<BatchResult> {
  const last = rows.at(-1)
  if (!last) return { kind: 'again' }
  const { repository, target } = last.merge
  const move = { repository, target, from: tip, to: last.result, message: reflogMessage(rows) }
  const intent = await writeIntent(rows, deps)
  if (intent.kind === 'stale') {
    await abortStale(intent.merge, 'a newer attempt at the task has begun, or the task is over', deps)
    await requeue(mergesExcept(rows, intent.merge), 'one that it was tried with has gone', deps)
    return { kind: 'again' }
  }
  crashPoint('merge.before-ref')
  const moved = await moveTarget(move)
  crashPoint('merge.after-ref')
  if (moved.kind === 'moved') {
    await finish(intent.rows, deps)
    return { kind: 'landed', count: rows.length }
  }
  if (moved.kind === 'blocked') return holdUpAll(intent.rows, moved.why, deps)
  await requeue(mergesOf(intent.rows), `${target} has moved meanwhile`, deps)
  return { kind: 'again' }
}

type LandingIntent = { kind: 'written'; rows: PreparedMerge[] } | { kind: 'stale'; merge: Merge }

/** Checks that no attempt is stale in the same transaction that records that they land. */
function writeIntent(rows: readonly PreparedMerge[], deps: MergeDeps): Promise<LandingIntent> {
  return deps.store.transaction(async (tx): Promise<LandingIntent> => {
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

async function holdUpAll(rows: readonly PreparedMerge[], why: string, deps: MergeDeps): Promise<BatchResult> {
  for (const { merge } of rows) await holdUp(merge, why, deps)
  return { kind: 'waits' }
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
  if (!merge) return { kind: 'settled' }
  const proposed = (await deps.propose?.(merge, row.worktree, await readTitle(merge, deps))) ?? NO_PROPOSER
  if (!proposed.ok) {
    await giveUp(merge, `no pull request: ${proposed.why}`, deps)
    return { kind: 'settled' }
  }
  await deps.store.transaction(async tx => {
    const now = await changeMergeIn(merge, { state: 'proposed', reason: proposed.url }, deps, tx)
    if (!now) throw new AppError('merge_moved', { id: merge.id })
    await deps.landed(now, tx)
  })
  return { kind: 'settled' }
}

const NO_PROPOSER = { ok: false, why: 'nobody here can open one' } as const
