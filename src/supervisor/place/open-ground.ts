import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { AT_WORK, type TaskState } from '../../domain/task.ts'
import type { Place } from '../../domain/workspace/place.ts'
import { trustedFile, trustStatus } from '../../policy/trust.ts'
import type { Store } from '../../store/store.ts'
import type { WorktreeParts } from '../../workspace/worktrees/parts.ts'
import { callersSettings } from '../settings/callers-settings.ts'
import type { PrepareParts } from '../start/preparation.ts'
import type { Ground, WantedPlace } from './ground.ts'

export interface GroundParts extends Pick<PrepareParts, 'places' | 'env'> {
  store: Store
  clock: Clock
  log: Log
}

/** Worktrees for tasks, under the settings of their project and of whoever asks. */
export function openGround(parts: GroundParts): Ground {
  const { store, log } = parts
  return {
    async make(wanted, settings) {
      const { makePlace } = await import('../../workspace/worktrees/make-place.ts')
      const { target, ...own } = await worktreeParts(wanted.project, settings, parts)
      const made = await makePlace({ ...wanted, target }, own)
      if (!('why' in made)) return made
      // Where worktrees are only switched off, git has what was committed.
      const copy = own.settings.mode === 'off' ? undefined : await copied(wanted, own)
      return { why: made.why, copy, began: await heldIn(wanted.project) }
    },
    async look({ project, task }, settings) {
      const own = await worktreeParts(project, settings, parts)
      if (own.settings.mode === 'off') return { why: 'worktrees.mode is off' }
      const { lookAt } = await import('../../workspace/worktrees/repository.ts')
      const look = await lookAt({ project, task, target: own.target })
      if (look.kind === 'there') return { branch: `pcc/${task}`, target: look.repository.target }
      return { why: look.why }
    },
    async leave(place, { project, settings }) {
      try {
        if (await isWanted(place, store)) return
        const { removePlace } = await import('../../workspace/worktrees/remove-place.ts')
        await removePlace(place, await worktreeParts(project, settings, parts))
      } catch (error) {
        log.warn(
          { task: place.task, worktree: place.top, error },
          'a worktree in which nothing was begun is still there',
        )
      }
    },
  }
}

async function copied(wanted: WantedPlace, parts: WorktreeParts): Promise<string> {
  const { snapshotCopy } = await import('../../workspace/worktrees/ready/snapshot.ts')
  const snapshot = await snapshotCopy(wanted, parts)
  return snapshot.kind === 'copied'
    ? `What it held before lies in ${snapshot.path}.`
    : `No copy of what it held before was made: ${snapshot.why}.`
}

/** What is done there is compared with this later. */
async function heldIn(project: string): Promise<string | undefined> {
  const [{ findGitFolder }, { nameWorkTree }] = await Promise.all([
    import('../../workspace/git/git-folder.ts'),
    import('../../workspace/verify/tree/work-tree.ts'),
  ])
  const folder = await findGitFolder(project)
  return folder && nameWorkTree(folder)
}

/** Whoever has its task works in it, and whoever takes the task next will. */
async function isWanted({ task }: Place, { tasks }: Store): Promise<boolean> {
  const now = await tasks.get(task)
  return now !== undefined && WANTED.has(now.state)
}

const WANTED: ReadonlySet<TaskState> = new Set(['ready', 'blocked', 'waiting', ...AT_WORK])

async function worktreeParts(
  project: string,
  options: Parameters<Ground['make']>[1],
  parts: GroundParts,
): Promise<WorktreeParts & { target: string | undefined }> {
  const { places, env } = callersSettings(options, parts)
  const trusted = trustedFile(await trustStatus(places, project))
  const { worktrees, merge } = (await loadConfig({ places, env, project, trusted })).config
  const root = worktrees.directory ?? join(parts.places.home, 'worktrees')
  const { store, clock, log } = parts
  return { store, clock, log, root, env: parts.env, settings: worktrees, target: merge.target }
}
