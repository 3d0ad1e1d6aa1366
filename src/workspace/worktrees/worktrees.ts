import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DAY_MS } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { AT_WORK, OPEN_STATES, type Task } from '../../domain/task.ts'
import { PRESENT_WORKTREES, type Worktree, type WorktreeForecast, type WorktreeRow } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import { git } from '../git/git.ts'
import { forecastRemoval, removeWorktree, type WorktreeRemoval } from './remove-worktree.ts'
import { restoreWorktree } from './restore-worktree.ts'
import { removeIdleSlots } from './slots.ts'
import { stillThereError, type WorktreeDeps, worktreeOfRow } from './worktree.ts'

/** The commands that a person has for worktrees, by task. */
export interface Worktrees {
  /** The existing worktrees; with `all`, also removed and archived ones. Newest first. */
  list(filter: { project?: string | undefined; all?: boolean }): Promise<WorktreeRow[]>
  /** The worktrees of all attempts, newest first. Throws `worktree_unknown` if the task has had none. */
  show(task: string): Promise<WorktreeRow[]>
  /** What a removal would do to the live one among the rows. */
  forecast(rows: readonly WorktreeRow[]): Promise<WorktreeForecast | null>
  remove(task: string): Promise<WorktreeRemoval>
  archive(task: string): Promise<WorktreeRemoval>
  restore(task: string): Promise<Worktree>
  prune(filter: { project?: string | undefined }): Promise<PrunedWorktree[]>
}

/** Opens the worktrees of this installation. Changing one whose task is being worked on is refused. */
export function openWorktrees(deps: WorktreeDeps): Worktrees {
  const { worktrees, tasks, escalations } = deps.store
  const show = async (ref: string) => {
    const rows = await worktrees.list({ task: ref })
    if (rows.length > 0) return rows
    const matching = (await worktrees.list()).filter(({ task }) => task.startsWith(ref) || task.startsWith(`t-${ref}`))
    const [first, ...others] = [...new Set(matching.map(({ task }) => task))]
    if (first === undefined) throw new AppError('worktree_unknown', { task: ref })
    if (others.length > 0) throw new AppError('worktree_ambiguous', { ref, matches: [first, ...others].join(', ') })
    return matching
  }
  const findIdle = async (ref: string, wanted: (row: WorktreeRow) => boolean, isForRestore = false) => {
    const rows = await show(ref)
    const [newest] = rows
    const task = newest && (await tasks.get(newest.task))
    const isAtWork = task !== undefined && AT_WORK.some(active => active === task.state)
    if (newest && isAtWork && !(isForRestore && (await standsWithout(newest, task)))) {
      throw new AppError('worktree_busy', { task: newest.task, state: task.state, path: newest.top })
    }
    const row = rows.find(wanted)
    if (!row) throw new AppError('worktree_not_so', { task: ref, state: newest?.state ?? 'removed' })
    return row
  }
  /** A deleted one is archived first, from its branch. One in which nothing was is made again while its task is open. */
  const findRestorable = async (ref: string) => {
    const [newest] = await show(ref)
    const state = newest && (await tasks.get(newest.task))?.state
    const isOpen = OPEN_STATES.some(open => open === state)
    const isEmpty = (row: WorktreeRow) => isOpen && row.attempt === newest?.attempt && row.state === 'removed'
    const row = await findIdle(ref, each => each.state === 'archived' || isDeleted(each) || isEmpty(each), true)
    if (!isDeleted(row)) return row
    const removal = await removeWorktree(worktreeOfRow(row), deps, { archive: true })
    if (removal.kind === 'kept') throw stillThereError(row, row, removal.why)
    return (await worktrees.get(row)) ?? row
  }
  const isDeleted = (row: WorktreeRow) => row.state === 'live' && isDirectoryDeleted(row)
  /** Finished work whose directory is gone and that waits for a person: nothing happens to it before they answer. */
  const standsWithout = async (row: WorktreeRow, { state, session_id }: Task) => {
    const isFinished = state === 'verifying' || state === 'merging'
    const isGone = isDeleted(row) || row.state === 'archived' || row.state === 'removed'
    if (!isFinished || session_id === null || !isGone) return false
    return (await escalations.list({ session: session_id, states: ['open'] })).length > 0
  }
  const isPresent = ({ state }: WorktreeRow) => PRESENT_WORKTREES.some(name => name === state)
  return {
    show,
    list: ({ project, all }) => worktrees.list({ project, ...(all ? {} : { states: PRESENT_WORKTREES }) }),
    forecast: async rows => {
      const live = rows.find(({ state }) => state === 'live' || state === 'idle')
      return live ? forecastRemoval(live) : null
    },
    remove: async task => removeWorktree(worktreeOfRow(await findIdle(task, isPresent)), deps),
    archive: async task => removeWorktree(worktreeOfRow(await findIdle(task, isPresent)), deps, { archive: true }),
    restore: async task => restoreWorktree(await findRestorable(task), deps),
    prune: filter => pruneWorktrees(deps, filter),
  }
}

export interface PrunedWorktree {
  worktree: WorktreeRow
  removal: WorktreeRemoval
}

/** Removes every worktree whose task is over and that has nothing to keep. The others stay, and their removal says why. */
async function pruneWorktrees(
  deps: WorktreeDeps,
  filter: { project?: string | undefined } = {},
): Promise<PrunedWorktree[]> {
  const rows = await listOfEndedTasks(deps.store, filter)
  const pruned: PrunedWorktree[] = []
  for (const worktree of rows) {
    pruned.push({ worktree, removal: await removeWorktree(worktreeOfRow(worktree), deps, { onlyClean: true }) })
  }
  return pruned
}

/**
 * Removes what is older than `days`: a worktree whose task is over is archived or removed, and later its archive is deleted too.
 * A worktree that a task may still need is not touched, however old it is. Returns how many were removed.
 */
export async function removeOld(deps: WorktreeDeps, days: number, signal: AbortSignal): Promise<number> {
  const before = deps.clock.now() - days * DAY_MS
  let count = 0
  for (const row of await listOfEndedTasks(deps.store)) {
    if (signal.aborted) return count
    const isReachable = existsSync(row.top) || isDirectoryDeleted(row)
    if (!isReachable || (await findTaskEnd(row, deps.store)) >= before) continue
    if ((await removeWorktree(worktreeOfRow(row), deps)).kind !== 'kept') count += 1
  }
  for (const row of await deps.store.worktrees.list({ states: ['archived'] })) {
    if (signal.aborted) return count
    if ((row.ended_at ?? row.created_at) < before && (await dropArchive(row, deps, days))) count += 1
  }
  return count
}

/** Worktrees whose task is over, idle slots among them. */
async function listOfEndedTasks(
  { worktrees, tasks }: Store,
  filter: { project?: string | undefined } = {},
): Promise<WorktreeRow[]> {
  const rows = await worktrees.list({ ...filter, states: ['live', 'idle'] })
  const rowTasks = await Promise.all(rows.map(({ task }) => tasks.get(task)))
  const isOpen = (state: string | undefined) => OPEN_STATES.some(open => open === state)
  return rows.filter((_, index) => !isOpen(rowTasks[index]?.state))
}

/** When the task ended. A task that is no longer known counts as ended when its worktree was made. */
async function findTaskEnd({ task, created_at }: WorktreeRow, { tasks }: Store): Promise<number> {
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
 * Recovers after a death of the daemon, from what git and the disk say: a worktree that was being made is undone (no agent had it
 * yet), a row whose directory is gone is closed according to its branch or archive, and slots of runs that are over are removed. Everything
 * else stays.
 */
export async function recoverWorktrees(deps: WorktreeDeps): Promise<number> {
  const rows = await deps.store.worktrees.list({ states: PRESENT_WORKTREES })
  // Nobody takes those any more: what they hold is found out when they are taken or removed again.
  for (const row of rows.filter(({ state }) => state === 'leaving')) await deps.store.worktrees.update(row, IDLE)
  await removeIdleSlots(deps)
  const broken = rows.filter(row => row.state === 'making' || isDirectoryDeleted(row))
  for (const row of broken) {
    // A worktree that cannot be recovered must not keep the daemon from starting.
    await removeWorktree(worktreeOfRow(row), deps).catch(error =>
      deps.log.warn({ task: row.task, top: row.top, error }, 'a worktree could not be recovered'),
    )
  }
  return broken.length
}

const IDLE = { state: 'idle' } as const

/** Where even the parent folder is missing, a disk may not be mounted: then the worktree is not given up. */
function isDirectoryDeleted({ top }: WorktreeRow): boolean {
  return !existsSync(top) && existsSync(dirname(top))
}
