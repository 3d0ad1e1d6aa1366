import { AppError } from '../../base/errors.ts'
import { AT_WORK } from '../../domain/task.ts'
import type { Place, Worktree } from '../../domain/workspace/place.ts'
import type { WorktreeForecast } from '../../domain/workspace/worktree-view.ts'
import { forecastOf } from './gone/forecast.ts'
import { type Pruned, pruneWorktrees } from './gone/prune.ts'
import { restoreRow } from './gone/restore.ts'
import type { WorktreeParts } from './parts.ts'
import { placeOf } from './place-of.ts'
import { removePlace } from './remove-place.ts'
import type { Removal } from './remove-row.ts'

/** Worktrees as a person handles them, by their task. */
export interface Worktrees {
  /** Those that are there; with `all`, those that were too. Newest first. */
  list(filter: { project?: string | undefined; all?: boolean }): Promise<Worktree[]>
  /** Every attempt's, newest first. Throws `worktree_unknown` where the task has had none. */
  show(task: string): Promise<Worktree[]>
  /** What would become of the one that is there. */
  forecast(rows: readonly Worktree[]): Promise<WorktreeForecast | null>
  remove(task: string): Promise<Removal>
  archive(task: string): Promise<Removal>
  restore(task: string): Promise<Place>
  prune(filter: { project?: string | undefined }): Promise<Pruned[]>
}

/** Opens the worktrees of this installation. Who asks for one whose task is being worked on is refused. */
export function openWorktrees(parts: WorktreeParts): Worktrees {
  const { worktrees, tasks } = parts.store
  const show = async (ref: string) => {
    const rows = await worktrees.list({ task: ref })
    if (rows.length > 0) return rows
    const fitting = (await worktrees.list()).filter(({ task }) => task.startsWith(ref) || task.startsWith(`t-${ref}`))
    const [first, ...others] = [...new Set(fitting.map(({ task }) => task))]
    if (first === undefined) throw new AppError('worktree_unknown', { task: ref })
    if (others.length > 0) throw new AppError('worktree_ambiguous', { ref, matches: [first, ...others].join(', ') })
    return fitting
  }
  const idle = async (ref: string, wanted: (row: Worktree) => boolean) => {
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
  const isThere = ({ state }: Worktree) => state === 'live' || state === 'making'
  return {
    show,
    list: ({ project, all }) => worktrees.list({ project, ...(all ? {} : { states: ['making', 'live'] }) }),
    forecast: async rows => {
      const live = rows.find(({ state }) => state === 'live')
      return live ? forecastOf(live) : null
    },
    remove: async task => removePlace(placeOf(await idle(task, isThere)), parts),
    archive: async task => removePlace(placeOf(await idle(task, isThere)), parts, { archive: true }),
    restore: async task => restoreRow(await idle(task, ({ state }) => state === 'archived'), parts),
    prune: filter => pruneWorktrees(parts, filter),
  }
}
