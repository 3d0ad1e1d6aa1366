import { type CpuInfo, cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { QuotaBook } from '../agents/limits/quota.ts'
import { AppError, messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { loadConfig } from '../domain/config/load.ts'
import { isCurrent } from '../domain/quota.ts'
import type { StartRun } from '../domain/run.ts'
import { isFinal } from '../domain/session-end.ts'
import type { Task } from '../domain/task.ts'
import { notesLock } from '../knowledge/read-notes.ts'
import { trustedFile, trustStatus } from '../policy/trust/trust.ts'
import type { RunRow, SessionRow } from '../store/tables.ts'
import { openTasks } from '../tasks/tasks.ts'
import { beginBrief } from './brief/brief-for.ts'
import { ConversationLocks, prepareSession, type SupervisorContext } from './context.ts'
import type { FeatureDeps } from './features/create.ts'
import { FeatureManager } from './features/features.ts'
import { GuardWatch } from './guards/watch.ts'
import { Accounts, type AccountsDeps } from './limits/accounts.ts'
import { StartBarrier } from './limits/start-barrier.ts'
import { type BeginDeps, type CompleteBrief, HeldBackTasks } from './runs/begin-next.ts'
import { Calendar } from './runs/calendar.ts'
import { classifyAttempt } from './runs/next-step.ts'
import { runSettings, whyUnverified } from './runs/run-settings.ts'
import { RunManager } from './runs/runs.ts'
import { AdmissionQueue } from './session/admission.ts'
import { checkpointsDirectory } from './session/checkpoints.ts'
import type { LiveSession, LiveSessionEnding, SessionDeps } from './session/context.ts'
import { KeptEnvironments } from './session/kept-environments.ts'
import { LiveSessions } from './session/live-sessions.ts'
import type { PrepareDeps, PreparedSession } from './session/prepare.ts'
import { settingsOfCaller } from './session/settings.ts'
import { pauseWaitingSession, stopWaitingSession } from './session/settle.ts'
import { stopUnwatched } from './session/stop-agent.ts'
import { WarmMarkers, WarmProcesses } from './session/warm-processes.ts'
import { openWorktreeProvider } from './session/worktree-provider.ts'

/** What a supervisor is made of. */
export interface SupervisorOptions
  extends Omit<
      SessionDeps,
      'tasks' | 'accounts' | 'watch' | 'checkpoints' | 'notesLock' | 'starts' | 'keepProcess' | 'endKept' | 'briefOf'
    >,
    PrepareDeps,
    Pick<AccountsDeps, 'quota' | 'gates'> {
  /** This boot of the daemon: the owner of every session it runs. */
  bootId: string
  log: Log
  /** The environment of an agent where no other is known: the daemon's own. */
  agentEnv: Record<string, string>
  /** The reason why nothing may start now, such as a full disk; undefined if sessions may start. */
  mayStart?: (() => string | undefined) | undefined
  /** Bytes that programs can still allocate; by default the system says. */
  availableMemory?: (() => number) | undefined
  /** How many processor cores have nothing to do; by default the system says. */
  freeCores?: (() => Promise<number>) | undefined
}

/** The context of a supervisor, and the parts that only the supervisor itself steers. */
export interface OpenedContext {
  supervisor: SupervisorContext
  admission: AdmissionQueue
  accounts: Accounts
  watch: GuardWatch
}

/** Builds the context in which sessions are started and resumed. `settled` is called for every session that was settled. */
export function openContext(
  options: SupervisorOptions,
  { closing, settled, launched }: { closing: AbortSignal; settled(row: SessionRow): void; launched(): void },
): OpenedContext {
  const { store, clock, log, paths, terminals, policy, quota, gates, bootId, code, memory } = options
  const admission = new AdmissionQueue()
  const accounts = new Accounts({
    ...{ store, clock, quota, gates },
    live: () => supervisor.sessions.all(),
    changed: () => admission.admitReady(),
  })
  const watch = new GuardWatch(clock)
  const shared = { store, clock, terminals, policy, tasks: openTasks({ store, clock }), accounts, watch, code, memory }
  const deps: SessionDeps = {
    ...shared,
    checkpoints: checkpointsDirectory(paths.data),
    notesLock: notesLock(paths),
    starts: new StartBarrier(),
    keepProcess: (live, session, ending) => warm.keep(live, session, ending),
    endKept: folder => warm.dropKeptIn(folder),
    async briefOf({ id: taskId, description }, { id, options: { run: position, place } }) {
      const run = position && (await store.runs.get(position.id))
      const task = run && (await store.tasks.get(taskId))
      if (!task) return description
      const attempts = (await store.runs.attempts({ task: task.id })).filter(attempt => attempt.session_id !== id)
      return beginPrompt(task, run, { supervisor, options })({ attempts, place })
    },
  }
  const kept = new KeptEnvironments(paths.run)
  const sessions = new LiveSessions({
    ...{ deps, admission, kept, log, closing, settled, launched },
    handOver: (ending, live, ready) => applyFailover(ending, live, ready, supervisor),
  })
  const worktrees = openWorktreeProvider({
    ...{ ...options, store, clock, log },
    isWaiting: pid => warm.isKept(pid),
    endWaiting: top => warm.dropKeptBelow(top),
  })
  const warm = new WarmProcesses({
    worktrees,
    markers: new WarmMarkers(paths.run),
    log,
    liveSession: id => sessions.get(id)?.live,
    prepare: request => prepareSession(request, supervisor),
    isCrowded: () => admission.waiting > 0,
    availableMemory: options.availableMemory ?? (() => process.availableMemory()),
    freeCores: options.freeCores ?? (() => countFreeCores(closing)),
  })
  terminals.onLeft(id => stopUnwatched(sessions.get(id)?.live))
  const conversations = new ConversationLocks()
  const supervisor: SupervisorContext = {
    deps,
    prepareDeps: options,
    bootId,
    log,
    sessions,
    kept,
    warm,
    worktrees,
    closing,
    conversations,
  }
  return { supervisor, admission, accounts, watch }
}

/**
 * Lets another agent take over where that is possible. When that fails the ending stays as it is: a wait that ends by itself
 * loses nothing.
 */
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
    live.log.warn({ problem: messageOf(error) }, 'could not choose another agent')
    return ending
  }
}

/** What a run does to its sessions. */
export interface RunSteering {
  start: BeginDeps['start']
  stop(id: string, reason: string): Promise<void>
  pause(id: string): Promise<void>
  resume(row: SessionRow, env?: Record<string, string>): Promise<unknown>
  completeAgain(): Promise<void>
}

/** Begins to collect the first prompt of a run's task. */
function beginPrompt(
  task: Task,
  { id: run, options: caller }: RunRow,
  { supervisor: { deps, log }, options }: { supervisor: SupervisorContext; options: PrepareDeps },
): CompleteBrief {
  const { store, code, memory } = deps
  const who = { agent: caller.agent ?? null, isBegun: true }
  const complete = beginBrief(task, { ...options, store, code, memory, caller }, who)
  return async about => {
    const { text, skipped } = await complete({ ...about, run })
    for (const { file, problem } of skipped) log.warn({ run, task: task.id, file, problem }, 'a note was left out')
    return text
  }
}

/** Opens the run manager. Its `stop` and `pause` also reach sessions without a process. */
export function openRuns(
  supervisor: SupervisorContext,
  options: PrepareDeps & { agentEnv: Record<string, string> },
  steering: RunSteering,
): RunManager {
  const { kept, log, warm: warmth } = supervisor
  const { store, tasks, clock } = supervisor.deps
  return new RunManager({
    ...{ store, tasks, clock, log, kept, warmth, agentEnv: options.agentEnv, notesLock: notesLock(options.paths) },
    settingsOf: run => runSettings(run, options),
    whyUnverified: run => whyUnverified(run, options),
    start: steering.start,
    completeAgain: steering.completeAgain,
    worktrees: supervisor.worktrees,
    heldBack: new HeldBackTasks(clock),
    predictOverlap: async (run, compared, signal) =>
      (await runSettings(run, options)).knows ? supervisor.deps.code.overlap(run.project, compared, signal) : [],
    beginPrompt: (task, run) => beginPrompt(task, run, { supervisor, options }),
    stop: async (id, reason) => {
      await steering.stop(id, reason)
      if (await endWithoutProcess(id, { to: 'stop', reason }, supervisor.deps)) await steering.stop(id, reason)
      kept.forget(id)
    },
    pause: async id => {
      await steering.pause(id)
      if (await endWithoutProcess(id, { to: 'pause' }, supervisor.deps)) await steering.pause(id)
    },
    pauseWaiting: async id => {
      await endWithoutProcess(id, { to: 'pause' }, supervisor.deps)
    },
    resume: async (id, env) => {
      // The daemon may be trying the old login: the new one takes its place as soon as that is over.
      if (env) await supervisor.sessions.waitForTry(id)
      const row = await store.sessions.get(id)
      refuseWithoutDecision(row)
      // A session that is over is closed by the run's next check, which releases its task: it must not be resumed as well.
      if (row?.state === 'ended' && classifyAttempt(row) !== 'over') await steering.resume(row, env)
      // The try of the old login takes longer: the next one, which comes by itself, has the new login.
      else if (row && row.state !== 'ended' && env)
        kept.keep(id, env, { onDisk: (await runSettings(row, options)).keepEnvironment })
    },
  })
}

/** The decision that a session waits for is a person's. That its run goes on is no answer to it. */
function refuseWithoutDecision(row: SessionRow | undefined): void {
  if (row?.ended_as !== 'paused' || row.options.refused === undefined) return
  throw new AppError('session_waits_for_answer', { id: row.id, number: `${row.options.refused} --approve --again` })
}

/**
 * Stops or pauses a session that has no process because it waits for a time or for a person; only its row changes. A session
 * that is over stays as it is. True if the session has a process again: an answer, or its time, came in between.
 */
async function endWithoutProcess(
  id: string,
  how: { to: 'stop'; reason: string } | { to: 'pause' },
  { store, clock }: Pick<SupervisorContext['deps'], 'store' | 'clock'>,
): Promise<boolean> {
  const row = await store.sessions.get(id)
  if (row?.state !== 'ended') return row !== undefined
  const mayRunInTerminal = row.options.host === 'tmux' && row.ended_as === 'paused'
  const waits = !isFinal(row.ended_as) && (how.to === 'stop' || row.resumes_at !== null || mayRunInTerminal)
  if (!waits) return false
  const now = clock.now()
  if (how.to === 'pause') return !(await pauseWaitingSession(row, store, now))
  return !(await stopWaitingSession(row, store, now, how.reason))
}

/** Opens the calendar: an entry that is due becomes a run. */
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
      const windows = await options.quota.windows(account)
      const now = clock.now()
      // Our own count is a guess, and an unknown quota holds nothing back (docs/adr/0012).
      const reported = windows.filter(window => window.source !== 'estimate' && isCurrent(window, now))
      return reported.length === 0 ? undefined : Math.max(...reported.map(({ utilization }) => utilization))
    },
  })
}

/** Opens the feature manager. */
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

/** Long enough to see what is at work now, and short beside a task. */
const SAMPLE_MS = 300

/** How many processor cores have had nothing to do for a moment: 1.5 are one and a half. */
export async function countFreeCores(signal?: AbortSignal, read: () => CpuInfo[] = cpus): Promise<number> {
  const before = totals(read())
  await sleep(SAMPLE_MS, undefined, signal ? { signal } : {})
  const after = totals(read())
  const spent = after.all - before.all
  return spent > 0 ? ((after.idle - before.idle) / spent) * after.cores : 0
}

/** Milliseconds of all cores together since the machine was started. */
function totals(all: CpuInfo[]): { cores: number; idle: number; all: number } {
  const times = all.map(({ times: { idle, user, nice, sys, irq } }) => ({ idle, all: idle + user + nice + sys + irq }))
  return {
    cores: all.length,
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    all: times.reduce((sum, { all }) => sum + all, 0),
  }
}
