import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { StartSession } from '../../domain/api.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { AT_WORK, type TaskState } from '../../domain/task.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'
import type { Store } from '../../store/store.ts'
import type { WorktreeDeps } from '../../workspace/worktrees/worktree.ts'
import type { PrepareDeps } from './prepare.ts'
import { settingsOfCaller } from './settings.ts'

/** A task that is to be done somewhere. */
interface WorktreeRequest {
  project: string
  task: string
  /** The number of the attempt that will work there. */
  attempt: number
}

/** It works in the project itself, because there is no other place for it. */
export interface InProject {
  why: string
  /** What became of the copy that was to be made of it first, for the person; nothing where none is needed. */
  copy: string | undefined
  /** The name by which git knows what it held, committed or not; nothing where there is no git. */
  began?: string | undefined
}

/** Where tasks are done. */
export interface WorktreeProvider {
  /** A worktree for an attempt, or why there is none; then what the project holds has been copied first. Once more gives the same. */
  make(wanted: WorktreeRequest, settings: Pick<StartSession, 'config' | 'settings'>): Promise<Worktree | InProject>
  /** What a task's worktree would be, or why it would have none. Makes nothing. */
  look(
    wanted: Omit<WorktreeRequest, 'attempt'>,
    settings: Pick<StartSession, 'config' | 'settings'>,
  ): Promise<Pick<Worktree, 'branch' | 'target'> | Pick<InProject, 'why'>>
  /** Nothing was begun in it: it goes, unless somebody else has its task by now. Never throws. */
  leave(place: Worktree, of: { project: string; settings: Pick<StartSession, 'config' | 'settings'> }): Promise<void>
}

export interface WorktreeProviderDeps extends Pick<PrepareDeps, 'paths' | 'env'> {
  store: Store
  clock: Clock
  log: Log
}

/** Worktrees for tasks, under the settings of their project and of whoever asks. */
export function openWorktreeProvider(deps: WorktreeProviderDeps): WorktreeProvider {
  const { store, log } = deps
  return {
    async make(wanted, settings) {
      const { makeWorktree } = await import('../../workspace/worktrees/make-worktree.ts')
      const { target, ...own } = await worktreeDeps(wanted.project, settings, deps)
      const made = await makeWorktree({ ...wanted, target }, own)
      if (!('why' in made)) return made
      // Where worktrees are only switched off, git has what was committed.
      const copy = own.settings.mode === 'off' ? undefined : await copyProject(wanted, own)
      return { why: made.why, copy, began: await nameHeldTree(wanted.project) }
    },
    async look({ project, task }, settings) {
      const own = await worktreeDeps(project, settings, deps)
      if (own.settings.mode === 'off') return { why: 'worktrees.mode is off' }
      const { lookAt } = await import('../../workspace/worktrees/repository.ts')
      const look = await lookAt({ project, task, target: own.target })
      if (look.kind === 'there') return { branch: `pcc/${task}`, target: look.repository.target }
      return { why: look.why }
    },
    async leave(place, { project, settings }) {
      try {
        if (await isTaskOpen(place, store)) return
        const { removeWorktree } = await import('../../workspace/worktrees/remove-worktree.ts')
        await removeWorktree(place, await worktreeDeps(project, settings, deps))
      } catch (error) {
        log.warn(
          { task: place.task, worktree: place.top, error },
          'a worktree in which nothing was begun is still there',
        )
      }
    },
  }
}

async function copyProject(wanted: WorktreeRequest, deps: WorktreeDeps): Promise<string> {
  const { snapshotCopy } = await import('../../workspace/worktrees/snapshot.ts')
  const snapshot = await snapshotCopy(wanted, deps)
  return snapshot.kind === 'copied'
    ? `What it held before lies in ${snapshot.path}.`
    : `No copy of what it held before was made: ${snapshot.why}.`
}

/** What is done there is compared with this later. */
async function nameHeldTree(project: string): Promise<string | undefined> {
  const [{ findGitFolder }, { nameWorkTree }] = await Promise.all([
    import('../../workspace/git/git-folder.ts'),
    import('../../workspace/git/checkout-state.ts'),
  ])
  const folder = await findGitFolder(project)
  return folder && nameWorkTree(folder)
}

/** Whoever has its task works in it, and whoever takes the task next will. */
async function isTaskOpen({ task }: Worktree, { tasks }: Store): Promise<boolean> {
  const now = await tasks.get(task)
  return now !== undefined && WANTED_STATES.has(now.state)
}

const WANTED_STATES: ReadonlySet<TaskState> = new Set(['ready', 'blocked', 'waiting', ...AT_WORK])

async function worktreeDeps(
  project: string,
  options: Parameters<WorktreeProvider['make']>[1],
  deps: WorktreeProviderDeps,
): Promise<WorktreeDeps & { target: string | undefined }> {
  const { paths, env } = settingsOfCaller(options, deps)
  const trusted = trustedFile(await trustStatus(paths, project))
  const { worktrees, merge } = (await loadConfig({ paths, env, project, trusted })).config
  const root = worktrees.directory ?? join(deps.paths.home, 'worktrees')
  const { store, clock, log } = deps
  return { store, clock, log, root, env: deps.env, settings: worktrees, target: merge.target }
}
