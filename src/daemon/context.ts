import { join } from 'node:path'
import type { AccountGates } from '../agents/limits/account-gates.ts'
import type { QuotaBook } from '../agents/limits/quota.ts'
import type { HookRegistry } from '../agents/tmux/session-folder.ts'
import type { AppPaths } from '../base/app-paths.ts'
import { systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Health } from '../domain/api.ts'
import { loadConfig } from '../domain/config/load.ts'
import { type HumanEscalations, openEscalations } from '../human/escalations.ts'
import type { AttachedTerminals } from '../human/terminals.ts'
import type { Store } from '../store/store.ts'
import type { Supervisor } from '../supervisor/supervisor.ts'
import { openTasks, type Tasks } from '../tasks/tasks.ts'
import type { WorktreeDeps } from '../workspace/worktrees/worktree.ts'
import type { Disk } from './disk.ts'

/** What the routes work with: everything `main.ts` has built. */
export interface DaemonContext {
  paths: AppPaths
  version: string
  /** In which a parked session goes on where nobody said another: the daemon's own. */
  agentEnv: Record<string, string>
  bootId: string
  startedAt: number
  token: string
  log: Log
  store: Store
  terminals: AttachedTerminals
  supervisor: Supervisor
  quota: QuotaBook
  gates: AccountGates
  /** Where hooks of agents in terminals meet their sessions. */
  hooks: HookRegistry
  disk: Pick<Disk, 'report'>
  watchdogSeconds: number
  /** Aborted when the daemon begins to stop. */
  stopping: AbortSignal
  /** Aborted when every session is settled: event streams tell what is left and end. */
  settled: AbortSignal
  /** What an earlier daemon had left, where it did not end cleanly. */
  recovered?: Health['recovered']
  /** Open event streams. */
  streams: Set<Promise<void>>
  /** Begins to stop; returns at once. `goOn`: sessions are only cut off, and go on with the next daemon. */
  stop(reason: string, options?: { goOn?: boolean }): void
  /** Whether the sessions go on with the next daemon. */
  cutsOff: boolean
}

/** The tasks over the daemon's store: they keep nothing of their own. */
export function getTasks({ store }: Pick<DaemonContext, 'store'>): Tasks {
  return openTasks({ store, clock: systemClock })
}

/** What waits for a person, over the daemon's store: it keeps nothing of its own. */
export function getEscalations({ store }: DaemonContext): HumanEscalations {
  return openEscalations({ store, clock: systemClock })
}

/** What the daemon puts worktrees away with: the person's own settings, whichever project it is about. */
export async function readWorktreeDeps({
  paths,
  env,
  store,
  log,
}: {
  paths: AppPaths
  env: Record<string, string | undefined>
  store: Store
  log: Log
}): Promise<WorktreeDeps> {
  const { worktrees } = (await loadConfig({ paths, env })).config
  const root = worktrees.directory ?? join(paths.home, 'worktrees')
  return { store, log, env, root, clock: systemClock, settings: worktrees }
}
