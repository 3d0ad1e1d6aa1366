import { join } from 'node:path'
import { ownFolders } from '../../base/app-paths.ts'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { StartSession } from '../../domain/api.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { OPEN_STATES } from '../../domain/task.ts'
import { branchOfTask, type Worktree, type WorktreeRow } from '../../domain/worktree.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'
import type { Store } from '../../store/store.ts'
import { readCommandCaps } from '../../workspace/command/command-caps.ts'
import { commandSandboxes } from '../../workspace/command/plan-sandbox.ts'
import type { ProjectSize } from '../../workspace/worktrees/snapshot.ts'
import type { WorktreeDeps } from '../../workspace/worktrees/worktree.ts'
import type { PrepareDeps } from './prepare.ts'
import { settingsOfCaller } from './settings.ts'

/** A task that needs a worktree. */
export interface WorktreeRequest {
  project: string
  task: string
  /** The number of the attempt that will work there. */
  attempt: number
  /** Whether it may be a slot of its run: a directory that stays from task to task while its branch changes. */
  slot?: boolean | undefined
}

/** The task is done in the project itself, because it has no worktree. */
export interface InProject {
  why: string
  /** A note for the person about the copy of the project that was made first; undefined if none is needed. */
  copy: string | undefined
  /** The git hash of the project's content, committed or not; undefined if there is no git. */
  began?: string | undefined
}

/** How a project without git is copied. */
export interface Copying {
  /** Ends the copying: `make` then throws. */
  signal?: AbortSignal
  /** Called with what is copied, in words, before that begins. */
  onBegin?(what: string): Promise<void>
}

/** Makes and removes the worktrees of tasks. */
export interface WorktreeProvider {
  /**
   * Makes a worktree for an attempt, or says why there is none; the project has then been copied first. A second call gives
   * the same.
   */
  make(
    wanted: WorktreeRequest,
    settings: Pick<StartSession, 'config' | 'settings'>,
    copying?: Copying,
  ): Promise<Worktree | InProject>
  /** The worktree that a task would have, or why it would have none. With a remedy, the task waits for that. Makes nothing. */
  look(
    wanted: Omit<WorktreeRequest, 'attempt'>,
    settings: Pick<StartSession, 'config' | 'settings'>,
  ): Promise<Pick<Worktree, 'branch' | 'target'> | { why: string; remedy?: string }>
  /**
   * Reserves the worktree of an attempt that probably comes next: it exists, but is empty until `make` fills it. Undefined if that is not
   * possible now, or somebody has reserved it already.
   */
  reserve(wanted: WorktreeRequest, settings: Pick<StartSession, 'config' | 'settings'>): Promise<Worktree | undefined>
  /** Removes a reserved worktree, unless `make` has taken it. Never throws. */
  release(worktree: Pick<Worktree, 'task' | 'attempt'>): Promise<void>
  /** Removes a worktree in which nothing was begun, unless its task is open again. Never throws. */
  leave(worktree: Worktree, of: { project: string; settings: Pick<StartSession, 'config' | 'settings'> }): Promise<void>
  /** Removes the idle slots of a project whose last run has ended. Never throws. */
  closeSlots(project: string): Promise<void>
}

export interface WorktreeProviderDeps extends Pick<PrepareDeps, 'paths' | 'env'> {
  store: Store
  clock: Clock
  log: Log
  /** Whether a process is an agent that waits for the next task of its run. */
  isWaiting?: WorktreeDeps['isWaiting']
  /** Ends such agents in a worktree. */
  endWaiting?: WorktreeDeps['endWaiting']
}

/** Opens the provider of worktrees, under the settings of the project and of the caller. */
export function openWorktreeProvider(deps: WorktreeProviderDeps): WorktreeProvider {
  const { store, clock, log } = deps
  /**
   * What is under way with the worktree of an attempt: a reservation, which gives its row and stays here until somebody follows it, or what
   * follows. One thing at a time: otherwise a reserved worktree could be removed while it is filled, or made twice at once.
   */
  const underWay = new Map<string, Promise<WorktreeRow | undefined>>()
  const nameOf = ({ task, attempt }: Pick<Worktree, 'task' | 'attempt'>) => `${task} ${attempt}`
  const forget = (name: string, step: Promise<unknown>) => {
    if (underWay.get(name) === step) underWay.delete(name)
  }
  const follow = async <T>(name: string, work: (reserved: WorktreeRow | undefined) => Promise<T>): Promise<T> => {
    const before = underWay.get(name)
    const done = (async () => work(await before))()
    const step = done.then(
      () => undefined,
      () => undefined,
    )
    underWay.set(name, step)
    return done.finally(() => forget(name, step))
  }
  return {
    async make(wanted, settings, copying = {}) {
      const { makeWorktree } = await import('../../workspace/worktrees/make-worktree.ts')
      const { target, ...own } = await worktreeDeps(wanted.project, settings, deps)
      const made = await follow(nameOf(wanted), row => makeWorktree({ ...wanted, target }, own, row))
      if (!('why' in made)) return made
      // If worktrees are only switched off, git has everything that was committed.
      const copy =
        own.settings.mode === 'off'
          ? undefined
          : await copyProject({ ...wanted, why: made.why }, copying, { ...own, paths: deps.paths })
      return { why: made.why, copy, began: await hashWorkTree(wanted.project) }
    },
    async look({ project, task }, settings) {
      const own = await worktreeDeps(project, settings, deps)
      if (own.settings.mode === 'off') return { why: 'worktrees.mode is off' }
      const { lookAt } = await import('../../workspace/worktrees/repository.ts')
      const state = await lookAt({ project, task, target: own.target })
      if (state.kind === 'there') return { branch: branchOfTask(task), target: state.repository.target }
      return state
    },
    async reserve(wanted, settings) {
      const name = nameOf(wanted)
      if (underWay.has(name)) return undefined
      const step = reserveEmpty(wanted, settings, deps).catch(error => {
        log.debug({ task: wanted.task, error }, 'no worktree could be reserved')
        return undefined
      })
      underWay.set(name, step)
      const row = await step
      if (!row) forget(name, step)
      return row
    },
    async release(worktree) {
      try {
        await follow(nameOf(worktree), async row => {
          const { discardReserved } = await import('../../workspace/worktrees/make-worktree.ts')
          if (row) await discardReserved(row, { store, clock, log })
        })
      } catch (error) {
        log.warn({ ...worktree, error }, 'a worktree that nobody needs is still there')
      }
    },
    async leave(worktree, { project, settings }) {
      try {
        if (await isTaskOpen(worktree, store)) return
        const [{ removeWorktree }, { keepSlot }] = await Promise.all([
          import('../../workspace/worktrees/remove-worktree.ts'),
          import('../../workspace/worktrees/slots.ts'),
        ])
        if (!(await store.transaction(tx => keepSlot(worktree, { store }, tx))))
          await removeWorktree(worktree, await worktreeDeps(project, settings, deps))
      } catch (error) {
        log.warn(
          { task: worktree.task, worktree: worktree.top, error },
          'a worktree in which nothing was begun is still there',
        )
      }
    },
    async closeSlots(project) {
      try {
        const { removeIdleSlots } = await import('../../workspace/worktrees/slots.ts')
        await removeIdleSlots({ store, clock, log }, project)
      } catch (error) {
        log.warn({ project, error }, 'slots that nobody needs are still there')
      }
    },
  }
}

async function reserveEmpty(
  wanted: WorktreeRequest,
  settings: Parameters<WorktreeProvider['reserve']>[1],
  deps: WorktreeProviderDeps,
): Promise<WorktreeRow | undefined> {
  const { reserveWorktree } = await import('../../workspace/worktrees/make-worktree.ts')
  const { target, ...own } = await worktreeDeps(wanted.project, settings, deps)
  return reserveWorktree({ ...wanted, target }, own)
}

async function copyProject(
  { why, ...wanted }: WorktreeRequest & { why: string },
  { signal, onBegin }: Copying,
  { paths, ...deps }: WorktreeDeps & Pick<WorktreeProviderDeps, 'paths'>,
): Promise<string> {
  const { snapshotCopy } = await import('../../workspace/worktrees/snapshot.ts')
  const request = {
    ...wanted,
    own: ownFolders(paths),
    signal,
    onBegin: async ({ files, bytes }: ProjectSize) => {
      const size = `${files} ${files === 1 ? 'file' : 'files'}, ${Math.ceil(bytes / 1_000_000)} MB`
      await onBegin?.(`the project is copied before a task begins, because ${why} (${size})`)
    },
  }
  const snapshot = await snapshotCopy(request, deps)
  return snapshot.kind === 'copied'
    ? `What it held before lies in ${snapshot.path}.`
    : `No copy of what it held before was made: ${snapshot.why}.`
}

/** The work in the project is compared with this hash later. */
async function hashWorkTree(project: string): Promise<string | undefined> {
  const [{ findGitFolder }, { nameWorkTree }] = await Promise.all([
    import('../../workspace/git/git-folder.ts'),
    import('../../workspace/git/checkout-state.ts'),
  ])
  const folder = await findGitFolder(project)
  return folder && nameWorkTree(folder)
}

/** Whether somebody works on the worktree's task, or may still claim it. */
async function isTaskOpen({ task }: Worktree, { tasks }: Store): Promise<boolean> {
  const row = await tasks.get(task)
  return row !== undefined && OPEN_STATES.includes(row.state)
}

async function worktreeDeps(
  project: string,
  options: Parameters<WorktreeProvider['make']>[1],
  deps: WorktreeProviderDeps,
): Promise<WorktreeDeps & { target: string | undefined }> {
  const { paths, env } = settingsOfCaller(options, deps)
  const trusted = trustedFile(await trustStatus(paths, project))
  const { config } = await loadConfig({ paths, env, project, trusted })
  const { worktrees, merge } = config
  const root = worktrees.directory ?? join(deps.paths.home, 'worktrees')
  const { store, clock, log } = deps
  const sandbox = commandSandboxes(config, {
    ...{ project, paths: deps.paths, fillsCaches: true },
    log: line => log.info({ project }, line),
  })
  const caps = readCommandCaps(config)
  const { isWaiting, endWaiting } = deps
  const own = { store, clock, log, root, env: deps.env, settings: worktrees, caps, sandbox, isWaiting, endWaiting }
  return { ...own, target: merge.target }
}
