import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { AccountGates } from '../agents/limits/account-gates.ts'
import type { QuotaBook } from '../agents/limits/quota.ts'
import type { AppPaths } from '../base/app-paths.ts'
import { systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Secrets } from '../base/secrets/secrets.ts'
import type { Health } from '../domain/api.ts'
import { loadConfig } from '../domain/config/load.ts'
import type { Needs } from '../domain/needs.ts'
import { type HumanEscalations, openEscalations } from '../human/escalations.ts'
import type { AttachedTerminals } from '../human/terminals.ts'
import { trustStatus } from '../policy/trust/trust.ts'
import type { Store } from '../store/store.ts'
import type { CodeSearch } from '../supervisor/knowledge/code-search.ts'
import type { SupervisorMemory } from '../supervisor/memory/supervisor-memory.ts'
import { listNeeds } from '../supervisor/report/needs.ts'
import type { Supervisor } from '../supervisor/supervisor.ts'
import { openTasks, type Tasks } from '../tasks/tasks.ts'
import type { WorktreeDeps } from '../workspace/worktrees/worktree.ts'
import type { AcceptedFiles } from './accepted-files.ts'
import type { Authenticator } from './api/authenticate.ts'
import type { ApiKeys } from './api/keys.ts'
import type { Disk } from './disk.ts'
import type { LazyBrains, LazyPolicy } from './lazy-services.ts'
import type { Webhooks } from './webhooks/settings.ts'

/** What the routes work with: everything that `serve` has built. */
export interface DaemonContext {
  paths: AppPaths
  version: string
  /** The daemon's own environment; a parked session resumes in it unless another one is given. */
  agentEnv: Record<string, string>
  bootId: string
  /** The name under which an answer over the socket is stored: `human`, or what the demo calls its scripted person. */
  person: string
  startedAt: number
  token: string
  /** The keys of other programs. */
  keys: ApiKeys
  /** Who sends a request that is not ours. */
  authenticator: Authenticator
  metrics: Metrics
  log: Log
  /** The requests of other programs, in a file of their own. */
  access: Log
  store: Store
  accepted: Pick<AcceptedFiles, 'accept'>
  terminals: AttachedTerminals
  supervisor: Supervisor
  quota: QuotaBook
  gates: AccountGates
  code: CodeSearch
  memory: SupervisorMemory
  disk: Pick<Disk, 'report'>
  policy: Pick<LazyPolicy, 'classify' | 'loadRules'>
  /** The language models of settings. */
  brainsFor: LazyBrains['get']
  secrets: Secrets
  webhooks: Webhooks
  watchdogSeconds: number
  /** Aborted when the daemon begins to stop. */
  stopping: AbortSignal
  /** Aborted when every session is settled: event streams then send what is left and end. */
  settled: AbortSignal
  /** What an earlier daemon left behind; unset if it ended cleanly. */
  recovered?: Health['recovered']
  /** Open event streams. */
  streams: Set<Promise<void>>
  /** Begins to stop and returns at once. `goOn`: sessions are only interrupted, and the next daemon resumes them. */
  stop(reason: string, options?: { goOn?: boolean }): void
  /** Whether the next daemon resumes the sessions. */
  cutsOff: boolean
}

/** What Prometheus reads. */
export interface Metrics extends AsyncDisposable {
  scrape(): Promise<{ type: string; text: string }>
}

/** The tasks service over the daemon's store. It has no state of its own, so making one each time is free. */
export function getTasks({ store }: Pick<DaemonContext, 'store'>): Tasks {
  return openTasks({ store, clock: systemClock })
}

/** The escalations service over the daemon's store. It has no state of its own, so making one each time is free. */
export function getEscalations({ store }: DaemonContext): HumanEscalations {
  return openEscalations({ store, clock: systemClock })
}

/** What the numbers beside a list of sessions count too. Who adds a field makes all of them count by it. */
export interface ProjectFilter {
  project?: string | undefined
}

/** All that waits for a person, in every project or in one. */
export function readNeeds(
  { store, paths }: Pick<DaemonContext, 'store' | 'paths'>,
  filter: ProjectFilter = {},
  untrusted = (project: string) => findUntrusted(paths, project),
): Promise<Needs> {
  return listNeeds({ store, untrusted }, filter)
}

/** How long what was found in a project's files is good enough for a number. */
const FOUND_MS = 10_000

/**
 * Like `findUntrusted`, from memory for some seconds unless the person has agreed to something since: people type `pcc list` all day,
 * and it need not read and hash the files of every project each time.
 */
export function rememberUntrusted(paths: AppPaths, now: () => number = Date.now): typeof readUntrusted {
  const known = new Map<string, { at: number; agreed: number; answer: Promise<string | undefined> }>()
  async function readUntrusted(project: string): Promise<string | undefined> {
    const agreed = (await stat(paths.trustFile).catch(() => undefined))?.mtimeMs ?? 0
    const before = known.get(project)
    if (before && before.agreed === agreed && now() - before.at < FOUND_MS) return before.answer
    const answer = findUntrusted(paths, project)
    known.set(project, { at: now(), agreed, answer })
    return answer
  }
  return readUntrusted
}

/** Why settings and gates of a project are not in force, if a person has not agreed to them. */
export async function findUntrusted(paths: AppPaths, project: string): Promise<string | undefined> {
  const { state, changed, files } = await trustStatus(paths, project)
  if (state === 'trusted' || state === 'nothing-to-trust') return undefined
  const [first = 'its files', ...others] =
    state === 'changed' && changed.length > 0 ? changed : files.map(({ path }) => path)
  const which = others.length === 0 ? first : `${first} and ${others.length} more`
  return `Not in force until you agree: ${which}${state === 'changed' ? ' (changed since you did)' : ''}`
}

/** What is needed to manage worktrees. The settings are the user's own ones, the same for every project. */
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
  // What a project may set of them is read when one is made (worktree-provider.ts).
  const { worktrees } = (await loadConfig({ paths, env, project: null })).config
  const root = worktrees.directory ?? join(paths.home, 'worktrees')
  return { store, log, env, root, clock: systemClock, settings: worktrees }
}
