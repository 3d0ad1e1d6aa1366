import type { QuotaBook } from '../agents/limits/quota.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { loadConfig } from '../domain/config/load.ts'
import { isCurrent } from '../domain/quota.ts'
import type { StartRun } from '../domain/run.ts'
import { notesLock } from '../knowledge/read-notes.ts'
import { trustedFile, trustStatus } from '../policy/trust/trust.ts'
import type { SessionRow } from '../store/tables.ts'
import { openTasks } from '../tasks/tasks.ts'
import { briefFor } from './brief/brief-for.ts'
import { featureSections } from './brief/task-sections.ts'
import { ConversationLocks, prepareSession, type SupervisorContext } from './context.ts'
import type { FeatureDeps } from './features/create.ts'
import { FeatureManager } from './features/features.ts'
import { GuardWatch } from './guards/watch.ts'
import { Accounts, type AccountsDeps } from './limits/accounts.ts'
import { StartBarrier } from './limits/alarm.ts'
import { type BeginDeps, HeldBackTasks } from './runs/begin-next.ts'
import { Calendar } from './runs/calendar.ts'
import { standingOfAttempt } from './runs/next-step.ts'
import { runSettings } from './runs/run-settings.ts'
import { RunManager } from './runs/runs.ts'
import { AdmissionQueue } from './session/admission.ts'
import { checkpointsDirectory } from './session/checkpoints.ts'
import type { LiveSession, LiveSessionEnding, SessionDeps } from './session/context.ts'
import { isOver, KeptEnvironments } from './session/kept-environments.ts'
import { LiveSessions } from './session/live-sessions.ts'
import type { PrepareDeps, PreparedSession } from './session/prepare.ts'
import { settingsOfCaller } from './session/settings.ts'
import { pauseWaitingSession, stopWaitingSession } from './session/settle.ts'
import { stopUnwatched } from './session/stop-agent.ts'
import { WarmMarkers, WarmProcesses } from './session/warm-processes.ts'
import { openWorktreeProvider } from './session/worktree-provider.ts'

/** What a supervisor is made of. */
export interface SupervisorOptions
  extends Omit<SessionDeps, 'tasks' | 'accounts' | 'watch' | 'checkpoints' | 'notesLock' | 'starts'>,
    PrepareDeps,
    Pick<AccountsDeps, 'quota' | 'gates'> {
  /** This boot of the daemon: the owner of every session it runs. */
  bootId: string
  log: Log
  /** What an agent is started with where nothing else is known: the daemon's own. */
  agentEnv: Record<string, string>
  /** Why nothing may start now (the disk is full), if so. */
  mayStart?: (() => string | undefined) | undefined
  /** Bytes that programs can still get, as the system has it where nothing else is said. */
  availableMemory?: (() => number) | undefined
}

/** What a supervisor stands on, and the parts of it that it steers by itself. */
export interface OpenedContext {
  supervisor: SupervisorContext
  admission: AdmissionQueue
  accounts: Accounts
  watch: GuardWatch
}

/** Builds what sessions are started and resumed with. `settled` hears of every session whose end is written down. */
export function openContext(
  options: SupervisorOptions,
  { closing, settled, launched }: { closing: AbortSignal; settled(row: SessionRow): void; launched(): void },
): OpenedContext {
  const { store, clock, log, paths, terminals, policy, quota, gates, bootId } = options
  const admission = new AdmissionQueue()
  const accounts = new Accounts({
    ...{ store, clock, quota, gates },
    live: () => supervisor.sessions.all(),
    changed: () => admission.admitReady(),
  })
  const watch = new GuardWatch(clock)
  const shared = { store, clock, terminals, policy, tasks: openTasks({ store, clock }), accounts, watch }
  const own = {
    checkpoints: checkpointsDirectory(paths.data),
    notesLock: notesLock(paths),
    starts: new StartBarrier(),
  }
  const deps: SessionDeps = { ...shared, ...own }
  const kept = new KeptEnvironments(paths.run)
  const sessions = new LiveSessions({
    ...{ deps, admission, kept, log, closing, settled, launched },
    handOver: (ending, live, ready) => applyFailover(ending, live, ready, supervisor),
  })
  const warm = new WarmProcesses({
    markers: new WarmMarkers(paths.run),
    log,
    liveSession: id => sessions.get(id)?.live,
    prepare: request => prepareSession(request, supervisor),
    isCrowded: () => admission.waiting > 0,
    availableMemory: options.availableMemory ?? (() => process.availableMemory()),
  })
  terminals.onLeft(id => stopUnwatched(sessions.get(id)?.live))
  const conversations = new ConversationLocks()
  const ground = openWorktreeProvider({ ...options, store, clock, log })
  const supervisor: SupervisorContext = {
    deps,
    prepareDeps: options,
    bootId,
    log,
    sessions,
    kept,
    warm,
    ground,
    closing,
    conversations,
  }
  return { supervisor, admission, accounts, watch }
}

/** An ending where another agent may go on. One that cannot be looked at stays what it was: a wait that ends by itself loses nothing. */
async function applyFailover(
  ending: LiveSessionEnding,
  live: LiveSession,
  ready: PreparedSession,
  supervisor: SupervisorContext,
): Promise<LiveSessionEnding> {
  if (ready.failover.order.length < 2) return ending
  try {
    const { endingWithFailover } = await import('./limits/failover.ts')
    return await endingWithFailover(ending, live, ready, supervisor)
  } catch (error) {
    live.log.warn({ problem: messageOf(error) }, 'could not look for another agent')
    return ending
  }
}

/** What a run does to its sessions. */
export interface RunSteering {
  start: BeginDeps['start']
  stop(id: string, reason: string): Promise<void>
  pause(id: string): Promise<void>
  resume(row: SessionRow): Promise<unknown>
  landAgain(): Promise<void>
}

/** Runs over the sessions of a floor: what a run asks of a session holds for one without a process as well. */
export function openRuns(
  supervisor: SupervisorContext,
  options: PrepareDeps & { agentEnv: Record<string, string> },
  steering: RunSteering,
): RunManager {
  const { kept, log, warm: warmth } = supervisor
  const { store, tasks, clock } = supervisor.deps
  const waiting = { store, now: () => clock.now() }
  return new RunManager({
    ...{ store, tasks, clock, log, kept, warmth, agentEnv: options.agentEnv, notesLock: notesLock(options.paths) },
    settingsOf: run => runSettings(run, options),
    start: steering.start,
    landAgain: steering.landAgain,
    ground: supervisor.ground,
    heldBack: new HeldBackTasks(clock),
    brief: async (task, { attempts, run, place }) => {
      const more = await featureSections(task)
      const { text, skipped } = await briefFor(task, { store, attempts, run, place, more })
      for (const { file, problem } of skipped) log.warn({ run, task: task.id, file, problem }, 'a note was left out')
      return text
    },
    stop: async (id, reason) => {
      await steering.stop(id, reason)
      if (await isSessionResumed(id, stopWaitingSession, waiting)) await steering.stop(id, reason)
      kept.forget(id)
    },
    pause: async id => {
      await steering.pause(id)
      if (await isSessionResumed(id, pauseWaitingSession, waiting)) await steering.pause(id)
    },
    pauseWaiting: async id => {
      await isSessionResumed(id, pauseWaitingSession, waiting)
    },
    resume: async id => {
      const row = await store.sessions.get(id)
      // What is over is closed by the next look, and its task given back: it must not come back beside that.
      if (row?.state === 'ended' && standingOfAttempt(row) !== 'over') await steering.resume(row)
    },
  })
}

/**
 * One that has no process waits for a time or for a person: it is told so in its row. One that is over stays so. True where it
 * has a process again: an answer, or its time, came in between.
 */
async function isSessionResumed(
  id: string,
  end: typeof stopWaitingSession,
  { store, now }: { store: SupervisorContext['deps']['store']; now: () => number },
): Promise<boolean> {
  const row = await store.sessions.get(id)
  if (row?.state !== 'ended') return row !== undefined
  const isLeft = row.options.host === 'tmux' && row.ended_as === 'paused'
  const waits = !isOver(row.ended_as) && (end === stopWaitingSession || row.resumes_at !== null || isLeft)
  return waits && !(await end(row, store, now()))
}

/** The calendar of a floor: what is due becomes a run. */
export function openCalendar(
  supervisor: SupervisorContext,
  options: PrepareDeps & { agentEnv: Record<string, string>; quota: Pick<QuotaBook, 'windows'> },
  runs: RunManager,
): Calendar {
  const { kept, log } = supervisor
  const { store, clock } = supervisor.deps
  return new Calendar({
    ...{ store, clock, log, kept, agentEnv: options.agentEnv },
    keepsEnvironment: async run => (await runSettings(run, options)).keepEnvironment,
    start: (request, also) => runs.start(request, also),
    fullness: async ({ project, env, config, settings }: StartRun) => {
      const { account } = await prepareSession({ project, task: '', env, config, settings }, supervisor)
      const windows = account === undefined ? [] : await options.quota.windows(account)
      const now = clock.now()
      // Our own count is a guess, and what nobody knows holds nothing back (docs/adr/0012).
      const told = windows.filter(one => one.source !== 'estimate' && isCurrent(one, now))
      return told.length === 0 ? undefined : Math.max(...told.map(({ utilization }) => utilization))
    },
  })
}

/** Features over the sessions of a floor. */
export function openFeatures(
  supervisor: SupervisorContext,
  options: PrepareDeps & { agentEnv: Record<string, string> },
  steering: Pick<FeatureDeps, 'start' | 'resume' | 'stop'>,
): FeatureManager {
  const { kept, log } = supervisor
  const { store, tasks, clock } = supervisor.deps
  return new FeatureManager({
    ...{ store, tasks, clock, log, kept, agentEnv: options.agentEnv, ...steering },
    async keepsEnvironment({ project, ...request }) {
      const { paths, env } = settingsOfCaller(request, options)
      const trusted = trustedFile(await trustStatus(paths, project))
      return (await loadConfig({ paths, env, project, trusted })).config.sessions.keep_environment
    },
  })
}
