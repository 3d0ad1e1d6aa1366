import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { AT_WORK, OPEN_STATES } from '../../domain/task.ts'
import type { Worktree, WorktreeForecast, WorktreeRow } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import { git } from '../git/git.ts'
import { restoreWorktree } from './make-worktree.ts'
import { forecastRemoval, removePlace, type WorktreeRemoval } from './remove-worktree.ts'
import { type WorktreeDeps, worktreeOfRow } from './worktree.ts'

/** Worktrees as a person handles them, by their task. */
export interface Worktrees {
  /** Those that are there; with `all`, those that were too. Newest first. */
  list(filter: { project?: string | undefined; all?: boolean }): Promise<WorktreeRow[]>
  /** Every attempt's, newest first. Throws `worktree_unknown` where the task has had none. */
  show(task: string): Promise<WorktreeRow[]>
  /** What would become of the one that is there. */
  forecast(rows: readonly WorktreeRow[]): Promise<WorktreeForecast | null>
  remove(task: string): Promise<WorktreeRemoval>
  archive(task: string): Promise<WorktreeRemoval>
  restore(task: string): Promise<Worktree>
  prune(filter: { project?: string | undefined }): Promise<PrunedWorktree[]>
}

/** Opens the worktrees of this installation. Who asks for one whose task is being worked on is refused. */
export function openWorktrees(deps: WorktreeDeps): Worktrees {
  const { worktrees, tasks } = deps.store
  const show = async (ref: string) => {
    const rows = await worktrees.list({ task: ref })
    if (rows.length > 0) return rows
    const fitting = (await worktrees.list()).filter(({ task }) => task.startsWith(ref) || task.startsWith(`t-${ref}`))
    const [first, ...others] = [...new Set(fitting.map(({ task }) => task))]
    if (first === undefined) throw new AppError('worktree_unknown', { task: ref })
    if (others.length > 0) throw new AppError('worktree_ambiguous', { ref, matches: [first, ...others].join(', ') })
    return fitting
  }
  const idle = async (ref: string, wanted: (row: WorktreeRow) => boolean) => {
    const rows = await show(ref)
    const [newest] = rows
    const state = newest && (await tasks.get(newest.task))?.state
    if (newest && AT_WORK.some(each => each === state)) {
      throw new AppError('worktree_busy', { task: newest.task, state: state ?? '', path: newest.top })
    }
    const row = rows.find(wanted)
    if (!row) throw new AppError('worktree_not_so', { task: ref, state: newest?.state ?? 'removed' })
    return row
  }
  const isThere = ({ state }: WorktreeRow) => state === 'live' || state === 'making'
  return {
    show,
    list: ({ project, all }) => worktrees.list({ project, ...(all ? {} : { states: ['making', 'live'] }) }),
    forecast: async rows => {
      const live = rows.find(({ state }) => state === 'live')
      return live ? forecastRemoval(live) : null
    },
    remove: async task => removePlace(worktreeOfRow(await idle(task, isThere)), deps),
    archive: async task => removePlace(worktreeOfRow(await idle(task, isThere)), deps, { archive: true }),
    restore: async task => restoreWorktree(await idle(task, ({ state }) => state === 'archived'), deps),
    prune: filter => pruneWorktrees(deps, filter),
  }
}

export interface PrunedWorktree {
  worktree: WorktreeRow
  removal: WorktreeRemoval
}

/** Removes every worktree whose task is over and that holds nothing of its own. What holds something stays, and says what. */
async function pruneWorktrees(
  deps: WorktreeDeps,
  of: { project?: string | undefined } = {},
): Promise<PrunedWorktree[]> {
  const rows = await overRows(deps.store, of)
  const pruned: PrunedWorktree[] = []
  for (const worktree of rows) {
    pruned.push({ worktree, removal: await removePlace(worktreeOfRow(worktree), deps, { onlyClean: true }) })
  }
  return pruned
}

const DAY_MS = 24 * 60 * 60_000

/**
 * What is older than it is kept: a worktree whose task is over is archived, and later what was archived goes too. Nothing that
 * a task may still go on with is touched, however old it is. Gives how many.
 */
export async function removeOld(deps: WorktreeDeps, days: number, signal: AbortSignal): Promise<number> {
  const before = deps.clock.now() - days * DAY_MS
  let count = 0
  for (const row of await overRows(deps.store)) {
    if (signal.aborted) return count
    const isReachable = existsSync(row.top) || isDirectoryDeleted(row)
    if (!isReachable || (await overSince(row, deps.store)) >= before) continue
    if ((await removePlace(worktreeOfRow(row), deps)).kind !== 'kept') count += 1
  }
  for (const row of await deps.store.worktrees.list({ states: ['archived'] })) {
    if (signal.aborted) return count
    if ((row.ended_at ?? row.created_at) < before && (await dropArchive(row, deps, days))) count += 1
  }
  return count
}

async function overRows(
  { worktrees, tasks }: Store,
  of: { project?: string | undefined } = {},
): Promise<WorktreeRow[]> {
  const rows = await worktrees.list({ ...of, states: ['live'] })
  const found = await Promise.all(rows.map(({ task }) => tasks.get(task)))
  const isOpen = (state: string | undefined) => OPEN_STATES.some(open => open === state)
  return rows.filter((_, index) => !isOpen(found[index]?.state))
}

/** A task that nobody knows any more was over when its worktree was made. */
async function overSince({ task, created_at }: WorktreeRow, { tasks }: Store): Promise<number> {
  return (await tasks.get(task))?.ended_at ?? created_at
}

async function dropArchive(row: WorktreeRow, deps: WorktreeDeps, days: number): Promise<boolean> {
  if (row.archive !== null && existsSync(row.repository)) {
    const { ok } = await git(row.repository, ['update-ref', '-d', row.archive])
    if (!ok) return false
  }
  const reason = `what was archived of it was older than ${days} days`
  await deps.store.worktrees.update(row, { state: 'removed', archive: null, reason })
  deps.log.info({ task: row.task, attempt: row.attempt, ref: row.archive }, 'an old archive of a worktree removed')
  return true
}

/**
 * After a death, from what git and the disk say: what was being made is taken back (nobody had it yet), and a row whose
 * directory is gone gets the end that its branch or its archive tells of. Everything else is as it was.
 */
export async function recoverWorktrees(deps: WorktreeDeps): Promise<number> {
  const rows = await deps.store.worktrees.list({ states: ['making', 'live'] })
  const broken = rows.filter(row => row.state === 'making' || isDirectoryDeleted(row))
  for (const row of broken) {
    // One that cannot be mended must not keep a daemon from starting.
    await removePlace(worktreeOfRow(row), deps).catch(error =>
      deps.log.warn({ task: row.task, top: row.top, error }, 'a worktree could not be recovered'),
    )
  }
  return broken.length
}

/** Where not even the folder around it is there, a disk may be missing: that is no reason to give anything up. */
function isDirectoryDeleted({ top }: WorktreeRow): boolean {
  return !existsSync(top) && existsSync(dirname(top))
}
