import type { Log } from '../../base/log.ts'
import type { RunOutcome } from '../../domain/attempt.ts'
import { faultOf } from '../../domain/limit.ts'
import { nextAttemptOf } from '../../domain/task.ts'
import type { Store } from '../../store/store.ts'
import type { AttemptRow, RunRow, SessionRow } from '../../store/tables.ts'
import { filterOfScope } from '../../store/tasks.ts'
import { findCompletingTask } from '../completion/work.ts'
import type { KeptEnvironments } from '../session/kept-environments.ts'
import type { WarmProcesses } from '../session/warm-processes.ts'
import { agentByLabel, type BeginDeps, type BeginOptions, beginNext, requestFor } from './begin-next.ts'
import { closeAttempts, openAttempts } from './close-attempt.ts'
import { chooseModel } from './models.ts'
import {
  budgetLeft,
  classifyAttempt,
  countMerged,
  endByCounts,
  findHoldUp,
  nextStep,
  type RunFacts,
  scopeOf,
  waitsForPerson,
} from './next-step.ts'
import { noteObstacles } from './obstacles.ts'
import type { RunSettings } from './run-settings.ts'

/** What runs need from other parts. */
export interface RunManagerDeps extends BeginDeps {
  log: Log
  /** The lock file that is held while notes of a project are written. */
  notesLock: string
  kept: KeptEnvironments
  warmth: WarmProcessesOfRun
  /** The agents' environment where the run's own was not kept. */
  agentEnv: Record<string, string>
  settingsOf(run: Pick<RunRow, 'project' | 'options'>): Promise<RunSettings>
  /** Why the work of a run may be unverified; undefined if its checks ran. */
  whyUnverified(run: Pick<RunRow, 'project' | 'options'>): Promise<string | undefined>
  stop(session: string, reason: string): Promise<void>
  pause(session: string): Promise<void>
  /** With `env`, in that environment instead of its own. */
  resume(session: string, env?: Record<string, string>): Promise<void>
  /** Verifies and merges finished work that was left while the run was paused. */
  completeAgain(): Promise<void>
  /** Keeps a session without a process from resuming by itself. */
  pauseWaiting(session: string): Promise<void>
}

/** Takes every step of a run that is possible now. Returns a time if nothing but the clock will call for the next step. */
export async function advanceRun(
  id: string,
  deps: RunManagerDeps,
  { closing, mayEnd }: { closing: AbortSignal; mayEnd(): boolean },
): Promise<number | undefined> {
  const { store } = deps
  for (;;) {
    const run = await store.runs.get(id)
    if (!run || closing.aborted) return undefined
    const settings = await deps.settingsOf(run)
    await closeAttempts(run, settings, deps)
    // Sessions may outlive a run that has ended: a question that is answered later still ends its attempt.
    if (run.state === 'ended') return undefined
    const read = await readRunFacts(run, settings, deps)
    const { left, spent } = await budgetLeft(run, await store.runs.attempts({ run: id }), store)
    const facts = { ...read, spent: spent ?? read.spent }
    const step = nextStep(facts)
    if (step.do === 'end' && !mayEnd()) return undefined // the run is checked again when its sessions are over
    if (step.do === 'end' && step.isSpent && spent !== undefined)
      await stopOpenAttempts(run, spent.replace(/^its/, "the run's"), { ...deps, settings })
    if (step.do === 'end') {
      const why = step.outcome === 'complete' && facts.unverified ? await deps.whyUnverified(run) : undefined
      const end = why === undefined ? step : endByCounts({ ...facts, whyUnverified: why })
      return void (await endRun(run, end, deps))
    }
    const total = Object.values(facts.counts).reduce((sum, count) => sum + count, 0)
    const env = deps.kept.of(id) ?? deps.agentEnv
    const copying = { signal: closing, onBegin: (what: string) => noteReason(run, what, deps) }
    const options = { ...settings, env, total, budget: left, avoided: facts.stalledAgents, copying }
    if (step.do === 'wait') {
      await noteReason(run, waitReason(facts, settings) ?? deps.heldBack.next(id)?.why ?? null, deps)
      await noteObstacles(id, deps)
      return void (await warmNextProcess(run, { ...options, facts }, deps))
    }
    step satisfies { do: 'begin' } // any other step needs its own branch above
    const result = await beginNext(run, options, deps)
    if (result === 'no') return void (await noteObstacles(id, deps))
    await noteReason(run, result === 'yes' ? null : result.why, deps)
    if (result === 'yes') continue
    if (!('heldBack' in result)) {
      await noteObstacles(id, deps)
      return result.notBefore
    }
    deps.log.warn({ run: id, task: result.heldBack, why: result.why }, 'a task got no worktree yet')
  }
}

/** The facts from which the next step of a run follows. */
async function readRunFacts(
  run: RunRow,
  settings: RunSettings,
  { store, tasks }: Pick<RunManagerDeps, 'store' | 'tasks'>,
): Promise<RunFacts & { stalledAgents: ReadonlySet<string | undefined> }> {
  const attempts = { working: 0, completing: 0, waiting: 0, heldUp: 0 }
  const stalled: (string | undefined)[] = []
  let limited: string | undefined
  let inPlace: string | undefined
  for (const attempt of await openAttempts(run.id, store)) {
    const session = await store.sessions.get(attempt.session_id)
    if (!session) continue
    const task = await store.tasks.get(attempt.task_id)
    const own = classifyAttempt(session, task)
    const holdUp = own === 'completing' ? await findHoldUp(attempt.session_id, attempt.task_id, store) : undefined
    const state = holdUp === undefined ? own : 'waiting'
    if (holdUp === 'merge') attempts.heldUp += 1
    if (session.ended_as === 'rate_limited' && state === 'waiting')
      limited = `the account is limited, and ${session.id} does not go on by itself: pcc resume ${session.id}`
    if (state === 'working' || state === 'completing') inPlace ??= session.options.in_place
    if (task && settings.labels.length > 0 && (await isStalled(session, store)))
      stalled.push(agentByLabel(task, settings.labels))
    // A session that has just ended counts as at work until its attempt is closed: its end wakes the run again.
    attempts[state === 'over' ? 'working' : state] += 1
  }
  const { stopping, gave_up } = (await store.runs.get(run.id)) ?? run
  const counts = await tasks.counts(scopeOf(run))
  const mayEnd = attempts.working + attempts.completing === 0
  return {
    counts,
    failedEarlier: mayEnd && counts.failed ? await listFailedEarlier(run, store) : [],
    unverified: await store.runs.unverified(scopeOf(run)),
    working: attempts.working + attempts.completing,
    stalled: stalled.length,
    stalledAgents: new Set(stalled),
    waiting: attempts.waiting,
    heldUp: attempts.heldUp,
    iterations: run.iterations,
    limit: settings.limit,
    parallel: inPlace === undefined ? settings.parallel : 1,
    inPlace,
    spent: limited,
    beginsNothing: run.state === 'paused' ? 'paused' : stopping ? 'after current' : undefined,
    gaveUp: gave_up ?? undefined,
  }
}

/** A task that failed again in this run has a later end. */
async function listFailedEarlier(run: RunRow, { tasks }: Store): Promise<string[]> {
  const failed = await tasks.list({ ...filterOfScope(scopeOf(run)), states: ['failed'] })
  return failed.filter(({ ended_at }) => ended_at !== null && ended_at <= run.created_at).map(({ id }) => id)
}

/** Whether a session waits in its own worktree for an account that a person has to mend. */
async function isStalled({ state, resumes_at, account, options }: SessionRow, { gates }: Store): Promise<boolean> {
  if (state !== 'ended' || resumes_at === null || account === null || !options.place) return false
  const gate = await gates.get(account)
  return gate !== undefined && faultOf(gate) !== undefined
}

/** Why no task begins although one is ready; null if the tasks at work are reason enough. */
function waitReason({ inPlace, counts }: RunFacts, { parallel }: RunSettings): string | null {
  if (inPlace === undefined || parallel === 1 || (counts.ready ?? 0) === 0) return null
  return `one task at a time works in the project itself: ${inPlace}`
}

/** Writes why the run waits. A run that was paused meanwhile keeps the reason of its pause. */
export async function noteReason(
  { id, reason: before, state }: RunRow,
  reason: string | null,
  { store }: Pick<RunManagerDeps, 'store'>,
): Promise<void> {
  if (state !== 'running' || before === reason) return
  await store.transaction(async tx => {
    if ((await store.runs.get(id, tx))?.state === 'running') await store.runs.update(id, { reason }, tx)
  })
}

/** Ends a run with the counts of its tasks as they are now. */
export async function endRun(
  run: RunRow,
  { outcome, reason }: { outcome: RunOutcome; reason: string },
  { store, clock, kept, warmth, heldBack, worktrees, log }: RunManagerDeps,
): Promise<void> {
  const tasks = await store.tasks.counts(scopeOf(run))
  const unverified = await store.runs.unverified(scopeOf(run))
  const merged = countMerged(await store.runs.doneAttempts(run.id))
  await store.transaction(async tx => {
    await store.runs.update(run.id, { state: 'ended', outcome, reason, ended_at: clock.now() }, tx)
    const body = { outcome, reason, tasks, unverified, ...merged }
    await tx.append([{ actor: 'daemon', subject: run.id, kind: 'run.ended', body }])
  })
  kept.forget(run.id)
  heldBack.forget(run.id)
  await warmth.drop(run.id)
  await worktrees.closeSlots(run.project)
  log.info({ run: run.id, outcome }, 'run ended')
}

/**
 * Sessions that wait because the budget is spent would wait for ever: they are stopped, and their tasks are free again. Finished work
 * that waits for a person needs no budget.
 */
async function stopOpenAttempts(
  run: RunRow,
  reason: string,
  { settings, ...deps }: RunManagerDeps & { settings: RunSettings },
): Promise<void> {
  for (const { session_id, task_id } of await openAttempts(run.id, deps.store)) {
    const isFinished = (await findCompletingTask(session_id, deps.store)) !== undefined
    if (isFinished && (await waitsForPerson(session_id, task_id, deps.store))) continue
    await deps
      .stop(session_id, reason)
      .catch(error => deps.log.warn({ run: run.id, session: session_id, error }, 'not stopped'))
  }
  await closeAttempts(run, settings, deps)
}

/** What a run needs of the processes that wait for a next task. */
type WarmProcessesOfRun = Pick<WarmProcesses, 'has' | 'expect' | 'drop' | 'clearAhead'>

export interface WarmNextDeps {
  store: Store
  warmth: WarmProcessesOfRun
}

/**
 * Starts the agent of a run's next task while the current one works, on the assumption that the current one goes well. A wrong
 * guess costs one process and nothing else. No process waits where no task can follow, or where nothing is at work.
 */
async function warmNextProcess(
  run: RunRow,
  { facts, ...options }: BeginOptions & Pick<RunSettings, 'warm' | 'warmCores'> & { facts: RunFacts },
  { store, warmth }: WarmNextDeps,
): Promise<void> {
  const iteration = run.iterations + 1
  const attempts = await store.runs.attempts({ run: run.id })
  const current = await findCurrentAttempt(attempts, store)
  const task = current && (await findLikelyNext(run, current.task_id, store))
  if (!current || !task) return warmth.drop(run.id)
  if (!options.warm || warmth.has(run.id, iteration)) return
  const step = nextStep({ ...facts, working: 0, waiting: 0, counts: { ...facts.counts, ready: 1 } })
  if (step.do !== 'begin' || agentByLabel(task, options.labels) !== undefined) return
  const { strategy, names, env, budget } = options
  const history = attempts.map(attempt => (attempt === current ? { ...attempt, outcome: 'done' as const } : attempt))
  const { model } = chooseModel(strategy, history, { names, task: task.id, hint: task.model, model: options.model })
  const request = requestFor(run, task, { prompt: task.description, model, env, budget })
  const position = { id: run.id, iteration, total: options.limit ?? options.total }
  // Not awaited: the run goes on meanwhile.
  const worktree =
    facts.inPlace === undefined
      ? { project: run.project, task: task.id, attempt: nextAttemptOf(task), slot: true }
      : undefined
  const expected = { session: current.session_id, request: { ...request, run: position }, worktree }
  void warmth.expect({ ...expected, freeCores: options.warmCores })
}

/** The open attempt that has a process or whose work is being verified. An attempt that waits for an answer or a limit has no process. */
async function findCurrentAttempt(attempts: readonly AttemptRow[], store: Store): Promise<AttemptRow | undefined> {
  for (const attempt of attempts.filter(({ outcome }) => outcome === null)) {
    const session = await store.sessions.get(attempt.session_id)
    if (session && (session.state !== 'ended' || (await findCompletingTask(session.id, store)))) return attempt
  }
  return undefined
}

/** A task that is ready, or that becomes ready when the current one is done. */
async function findLikelyNext(run: RunRow, current: string, store: Store) {
  const scope = scopeOf(run)
  const ready = await store.transaction(tx => store.tasks.nextFree(scope, tx))
  if (ready) return ready
  const dependents = await store.tasks.dependentsOf(current)
  return dependents.find(
    ({ state, open_blockers, children, session_id }) =>
      state === 'blocked' && open_blockers === 1 && children === 0 && session_id === null,
  )
}
