import { existsSync } from 'node:fs'
import { OPEN_STATES } from '../../../domain/task.ts'
import type { Worktree } from '../../../domain/workspace/place.ts'
import type { Store } from '../../../store/store.ts'
import { git } from '../../git/git.ts'
import type { WorktreeParts } from '../parts.ts'
import { placeOf } from '../place-of.ts'
import { removePlace } from '../remove-place.ts'
import type { Removal } from '../remove-row.ts'
import { isDeleted } from './recover.ts'

export interface Pruned {
  worktree: Worktree
  removal: Removal
}

/** Removes every worktree whose task is over and that holds nothing of its own. What holds something stays, and says what. */
export async function pruneWorktrees(
  parts: WorktreeParts,
  of: { project?: string | undefined } = {},
): Promise<Pruned[]> {
  const rows = await overRows(parts.store, of)
  const pruned: Pruned[] = []
  for (const worktree of rows) {
    pruned.push({ worktree, removal: await removePlace(placeOf(worktree), parts, { onlyClean: true }) })
  }
  return pruned
}

const DAY_MS = 24 * 60 * 60_000

/**
 * What is older than it is kept: a worktree whose task is over is archived, and later what was archived goes too. Nothing that
 * a task may still go on with is touched, however old it is. Gives how many.
 */
export async function removeOld(parts: WorktreeParts, days: number, signal: AbortSignal): Promise<number> {
  const before = parts.clock.now() - days * DAY_MS
  let count = 0
  for (const row of await overRows(parts.store)) {
    if (signal.aborted) return count
    const isReachable = existsSync(row.top) || isDeleted(row)
    if (!isReachable || (await overSince(row, parts.store)) >= before) continue
    if ((await removePlace(placeOf(row), parts)).kind !== 'kept') count += 1
  }
  for (const row of await parts.store.worktrees.list({ states: ['archived'] })) {
    if (signal.aborted) return count
    if ((row.ended_at ?? row.created_at) < before && (await forget(row, parts, days))) count += 1
  }
  return count
}

async function overRows({ worktrees, tasks }: Store, of: { project?: string | undefined } = {}): Promise<Worktree[]> {
  const rows = await worktrees.list({ ...of, states: ['live'] })
  const found = await Promise.all(rows.map(({ task }) => tasks.get(task)))
  const isOpen = (state: string | undefined) => OPEN_STATES.some(open => open === state)
  return rows.filter((_, index) => !isOpen(found[index]?.state))
}

/** A task that nobody knows any more was over when its worktree was made. */
async function overSince({ task, created_at }: Worktree, { tasks }: Store): Promise<number> {
  return (await tasks.get(task))?.ended_at ?? created_at
}

async function forget(row: Worktree, parts: WorktreeParts, days: number): Promise<boolean> {
  if (row.archive !== null && existsSync(row.repository)) {
    const { ok } = await git(row.repository, ['update-ref', '-d', row.archive])
    if (!ok) return false
  }
  const reason = `what was archived of it was older than ${days} days`
  await parts.store.worktrees.update(row, { state: 'removed', archive: null, reason })
  parts.log.info({ task: row.task, attempt: row.attempt, ref: row.archive }, 'an old archive of a worktree removed')
  return true
}
