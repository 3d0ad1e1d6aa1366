import { type Clock, wakeTime } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import type { StartSession } from '../../domain/api.ts'
import type { BudgetLimits } from '../../domain/budget.ts'
import { brainKeysIn } from '../../domain/config/layers.ts'
import type { ModelStrategy } from '../../domain/option-values.ts'
import { type KeptApartTask, RunSessionOptions } from '../../domain/run.ts'
import { nextAttemptOf, type Task } from '../../domain/task.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import type { AttemptRow, RunRow, SessionRow } from '../../store/tables.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { labelsIn } from '../../tasks/view.ts'
import { type BoundTask, nameFromTask } from '../session/start-session.ts'
import type { WarmProcesses } from '../session/warm-processes.ts'
import type { Copying, WorktreeProvider } from '../session/worktree-provider.ts'
import { chooseTask, type PredictOverlap } from './choose-task.ts'
import { chooseModel, type ModelNames } from './models.ts'
import { holdsItsTaskOnly, retryPlan, scopeOf, sinceReset } from './next-step.ts'
import { causeOf, type Obstacle, toObstacle } from './obstacles.ts'

export interface BeginDeps extends ClaimDeps {
  /** Starts a session for a task that exists already. */
  start(request: StartSession, bound: BoundTask): Promise<SessionRow>
  /** Begins to collect the first prompt for a task, which takes a while, and returns what completes it once the worktree is made. */
  beginPrompt(task: Task, run: RunRow): CompleteBrief
  worktrees: WorktreeProvider
  warmth: Pick<WarmProcesses, 'clearAhead'>
  heldBack: HeldBackTasks
  /** Whether tasks will change the same files, by what they say. */
  predictOverlap?: PredictOverlap | undefined
}

export type CompleteBrief = (about: { attempts: readonly AttemptRow[]; place: Worktree | undefined }) => Promise<string>

export interface BeginOptions {
  env: Record<string, string>
  strategy: ModelStrategy
  model: string | undefined
  names: ModelNames
  limit: number | undefined
  /** Tasks at once. */
  parallel: number
  /** The waits before consecutive retries after a transient failure. */
  retryMs: readonly number[]
  /** What is left of the run's budget. */
  budget: BudgetLimits | undefined
  /** Agents by the label of a task. */
  labels: readonly string[]
  /** Agents by label whose account cannot be used now; undefined is the run's own agent. Their tasks do not begin. */
  avoided: ReadonlySet<string | undefined>
  /** Number of tasks of the target: tells the agent how far the run is. */
  total: number
  /** What is said and what ends it while the project is copied. */
  copying: Copying
}

export type BeginResult =
  | 'yes'
  /** No task is free, or another run claimed it first. */
  | 'no'
  /** No worktree can be made for this task now: the task is skipped for a while, and others may begin. */
  | { heldBack: string; why: string }
  /**
   * With a time: the task's last failure was transient. Nothing begins before that time, because any other task would fail in
   * the same way. Without a time: the ready tasks would touch the same files as those at work.
   */
  | { notBefore?: number; why: string }

/** Begins the next attempt of a run: a fresh session for the next ready task, in a worktree of its own where there is git. */
export async function beginNext(run: RunRow, options: BeginOptions, deps: BeginDeps): Promise<BeginResult> {
  const { store, worktrees, heldBack } = deps
  const choice = await chooseReady(run, options, deps)
  if (choice === 'no' || !('task' in choice)) return choice
  const { task, ofTask } = choice
  const ofRun = await store.runs.attempts({ run: run.id })
  const { strategy, names } = options
  const attempts = ofRun.length > 0 ? ofRun : ofTask
  const history = attempts.map(attempt => ({ ...attempt, troubled: attempt.rounds > 1 }))
  const agent = agentByLabel(task, options.labels)
  const modelInput = { names, task: task.id, hint: task.model, model: options.model }
  // The model names are those of the run's own agent.
  const chosen = agent === undefined ? chooseModel(strategy, history, modelInput) : { model: undefined }
  const completeBrief = deps.beginPrompt(task, run)
  // The worktree is made before the claim, for the attempt number that the claim will get: no transaction may wait for git.
  const made = await makeWorktree(task, run, deps, options.copying)
  if ('heldBack' in made) return made
  const worktree = 'why' in made ? undefined : made
  // The files are those that the agent will find; the rest of what it needs is collected meanwhile.
  if (agent === undefined) deps.warmth.clearAhead(run.id, worktree?.directory ?? run.project)
  const request = requestFor(run, task, {
    prompt: await completeBrief({ attempts: ofTask, place: worktree }),
    model: chosen.model,
    agent,
    env: options.env,
    budget: options.budget,
  })
  const bound = {
    run: { id: run.id, iteration: run.iterations + 1, total: options.limit ?? options.total },
    ...('why' in made ? { inPlace: { ...made, ...(await readFirstBase(run, ofTask, store)) } } : { place: made }),
    text: task.description,
    take: claimFor(task, { run, model: chosen.model }, deps),
  }
  try {
    await deps.start(request, bound)
    return 'yes'
  } catch (error) {
    if (worktree) await worktrees.leave(worktree, { project: run.project, settings: run.options })
    if (error instanceof AppError && error.code === 'task_moved') return 'no'
    if (error instanceof AppError && error.code === 'agent_missing')
      return { heldBack: task.id, why: heldBack.hold(run.id, task.id, error) }
    throw error
  }
}

/**
 * Chooses the task that begins next. One whose last attempt met a fault that a person mends waits for its next try, and others begin
 * meanwhile; after a failure of the vendor all of them wait.
 */
async function chooseReady(
  run: RunRow,
  options: BeginOptions,
  { store, heldBack, clock, predictOverlap }: BeginDeps,
): Promise<{ task: Task; ofTask: AttemptRow[] } | Exclude<BeginResult, 'yes' | { heldBack: string }>> {
  const skipped = new Set([...heldBack.skippedIn(run.id), ...(await listAvoided(run, options, store))])
  let firstRetry: { notBefore: number; why: string } | undefined
  for (;;) {
    const choice = await chooseTask(run, { ...options, skipped }, { store, predictOverlap })
    heldBack.noteApart(run.id, choice.apart)
    if (!('task' in choice))
      return firstRetry ?? heldBack.next(run.id) ?? (choice.why === undefined ? 'no' : { why: choice.why })
    const { task } = choice
    const ofTask = await store.runs.attempts({ task: task.id })
    const retry = findRetryTime(task, ofTask, { retryMs: options.retryMs, now: clock.now() })
    if (!retry) return { task, ofTask }
    if (!holdsItsTaskOnly(ofTask.at(-1)?.failure ?? null)) return retry
    if (!firstRetry || retry.notBefore < firstRetry.notBefore) firstRetry = retry
    skipped.add(task.id)
  }
}

/** Ready tasks of agents whose account cannot be used now. */
async function listAvoided(run: RunRow, { avoided, labels }: BeginOptions, { tasks, transaction }: Store) {
  if (avoided.size === 0) return []
  const ready = await transaction(tx => tasks.free(scopeOf(run), MOST_AVOIDED, tx))
  return ready.filter(task => avoided.has(agentByLabel(task, labels))).map(({ id }) => id)
}

/** More tasks than this begin when the account works again, even if one of another agent is behind them. */
const MOST_AVOIDED = 200

/**
 * Another git process may be working in the repository right now, or a person has to mend something there: the branch is gone, the
 * disk is full. That is no failure of the task: it is held back, the run goes on, and the task is tried again.
 */
async function makeWorktree(task: Task, run: RunRow, { worktrees, heldBack }: BeginDeps, copying: Copying) {
  try {
    const wanted = { project: run.project, task: task.id, attempt: nextAttemptOf(task), slot: true }
    const made = await worktrees.make(wanted, run.options, copying)
    heldBack.free(task.id)
    return made
  } catch (error) {
    if (!(error instanceof AppError) || !HOLDING.has(error.code)) throw error
    return { heldBack: task.id, why: heldBack.hold(run.id, task.id, error) }
  }
}

const HOLDING: ReadonlySet<string> = new Set(['place_busy', 'place_refused'])

/**
 * An attempt in the project itself finds what earlier attempts left there: the changes of all of them are measured from the state
 * in which the first attempt began.
 */
async function readFirstBase(
  run: RunRow,
  ofTask: readonly AttemptRow[],
  { sessions }: BeginDeps['store'],
): Promise<{ began?: string }> {
  const first = ofTask.find(({ run_id }) => run_id === run.id)
  const began = first && (await sessions.get(first.session_id))?.options.began
  return began === undefined ? {} : { began }
}

/**
 * When a task may be tried again after a transient failure, and why not earlier; undefined if it may be tried now. The times
 * come from the attempts' rows, so a restart of the daemon does not change the wait.
 */
function findRetryTime(
  { id, retries }: Task,
  attempts: readonly AttemptRow[],
  { retryMs, now }: { retryMs: readonly number[]; now: number },
): { notBefore: number; why: string } | undefined {
  const history = sinceReset(attempts, retries)
  const plan = retryPlan(history, { maxRetries: Number.POSITIVE_INFINITY, retryMs })
  const last = history.at(-1)
  const notBefore = (last?.ended_at ?? 0) + (plan.again ? plan.afterMs : 0)
  // If the clock was set back, the attempt seems to have ended in the future: nobody waits for that.
  if (!plan.again || notBefore <= now || (last?.ended_at ?? 0) > now) return undefined
  return { notBefore, why: `${id} is tried again at ${wakeTime(notBefore, now)}: ${last?.reason ?? ''}` }
}

export interface SessionInput {
  prompt: string
  model: string | undefined
  /** Replaces the agent of the run. */
  agent?: string | undefined
  env: Record<string, string>
  budget: BudgetLimits | undefined
}

/** The request that starts the session of a run's task. */
export function requestFor({ project, options }: RunRow, { title }: Task, input: SessionInput): StartSession {
  const own = Object.entries(options).filter(([name]) => Object.hasOwn(RunSessionOptions.shape, name))
  const session: RunSessionOptions = Object.fromEntries(own)
  const { prompt, model, agent, env, budget } = input
  const keys = brainKeysIn(env)
  return {
    ...{ ...session, project, task: prompt, name: nameFromTask(title), env },
    ...((session.settings || Object.keys(keys).length > 0) && { settings: { ...session.settings, ...keys } }),
    ...(model !== undefined && { model }),
    ...(agent !== undefined && { agent }),
    ...(budget && { budget }),
  }
}

/** The agent that a task's labels select: the first pair of `failover.labels` whose label the task has. */
export function agentByLabel({ labels }: Pick<Task, 'labels'>, pairs: readonly string[]): string | undefined {
  const taskLabels = new Set(labelsIn(labels))
  for (const pair of pairs) {
    const [label = '', ...agent] = pair.split('=')
    if (taskLabels.has(label.trim())) return agent.join('=').trim()
  }
  return undefined
}

interface ClaimDeps {
  store: Store
  tasks: Tasks
  clock: Clock
}

/** Writes the claim, the attempt's row and the run's count in the transaction that writes the session's row. */
export function claimFor(
  task: Task,
  { run, model }: { run: RunRow; model: string | undefined },
  { store, tasks, clock }: ClaimDeps,
): BoundTask['take'] {
  return async (session, tx) => {
    const current = await store.runs.get(run.id, tx)
    // A person has stopped or paused the run meanwhile.
    if (current?.state !== 'running' || current.stopping)
      throw new AppError('task_moved', { ...task, session: session.id })
    const claim = { scope: scopeOf(run), run: run.id, session: session.id, only: task.id }
    const claimed = await tasks.claimReady(claim, tx)
    // The worktree was made for this attempt number.
    if (claimed?.attempt !== nextAttemptOf(task)) throw new AppError('task_moved', { ...task, session: session.id })
    const iteration = run.iterations + 1
    await store.runs.update(run.id, { iterations: iteration }, tx)
    await store.runs.begin(
      {
        ...{ task_id: task.id, number: claimed.attempt, run_id: run.id, iteration, session_id: session.id },
        ...{ model: model ?? null, outcome: null, reason: null, result: null, next_model: null, failure: null },
        ...{ cost_usd: 0, started_at: clock.now(), ended_at: null, rounds: 0 },
      },
      tx,
    )
    return claimed
  }
}

/** Another git process ends soon. What a person mends is seen soon after. */
const WAIT_MS = { first: 5_000, later: 10_000 }

/** A lock that is still there after so many tries, more than a minute, was left by a dead git: a person must remove it. */
const MOST_TRIES_BESIDE_GIT = 8

interface Hold {
  run: string
  /** How often in a row the task was held back. */
  times: number
  notBefore: number
  error: AppError
}

/**
 * Tasks that got no worktree because another process was working in their repository, or something there needs a person. They stay
 * ready; their run skips them for a while, so that the tasks behind them begin. A restarted daemon tries them at once.
 */
export class HeldBackTasks {
  readonly #clock: Clock
  readonly #held = new Map<string, Hold>()
  readonly #apart = new Map<string, readonly KeptApartTask[]>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Skips a task for a while, and with it those that were held back for the same cause: one try is enough for all. Returns why. */
  hold(run: string, task: string, error: AppError): string {
    const times = (this.#held.get(task)?.times ?? 0) + 1
    const notBefore = this.#clock.now() + (times === 1 ? WAIT_MS.first : WAIT_MS.later)
    const held = { run, times, notBefore, error }
    for (const [other, { error }] of this.#alike(held)) this.#held.set(other, { ...held, error })
    this.#held.set(task, held)
    return whyHeld(error)
  }

  /** The task has a worktree now: those that were held back for the same cause are tried too. */
  free(task: string): void {
    const held = this.#held.get(task)
    for (const [other] of held ? this.#alike(held) : []) this.#held.delete(other)
  }

  /** The tasks of a run that are skipped now. */
  skippedIn(run: string): ReadonlySet<string> {
    return new Set(this.#heldNow(run).map(([task]) => task))
  }

  /** When the first of them is tried again, and why it was not begun; undefined if none is skipped. */
  next(run: string): { notBefore: number; why: string } | undefined {
    const [first] = this.#heldNow(run).toSorted(([, a], [, b]) => a.notBefore - b.notBefore)
    if (!first) return undefined
    const [, { notBefore, error }] = first
    return { notBefore, why: whyHeld(error) }
  }

  /** The tasks of a run that a person has to help, with what is in their way. Another git needs nobody unless it stays. */
  stuckIn(run: string): { task: string; obstacle: Obstacle }[] {
    const isStuck = ({ error, times }: Hold) => error.code !== 'place_busy' || times > MOST_TRIES_BESIDE_GIT
    return [...this.#held]
      .filter(([, held]) => held.run === run && isStuck(held))
      .map(([task, { error }]) => ({ task, obstacle: toObstacle(error) }))
  }

  /** Notes which ready tasks of a run the last choice kept apart from those at work. */
  noteApart(run: string, apart: readonly KeptApartTask[]): void {
    this.#apart.set(run, apart)
  }

  apartIn(run: string): readonly KeptApartTask[] {
    return this.#apart.get(run) ?? []
  }

  /** The run has ended. */
  forget(run: string): void {
    this.#apart.delete(run)
    for (const [task, held] of this.#held) if (held.run === run) this.#held.delete(task)
  }

  /** If the clock was set back, a time may be far in the future: such a time is ignored. */
  #heldNow(run: string): [string, Hold][] {
    const now = this.#clock.now()
    return [...this.#held].filter(
      ([, held]) => held.run === run && held.notBefore > now && held.notBefore <= now + WAIT_MS.later,
    )
  }

  #alike({ run, error }: Pick<Hold, 'run' | 'error'>): [string, Hold][] {
    const cause = causeOf(toObstacle(error))
    return [...this.#held].filter(([, held]) => held.run === run && causeOf(toObstacle(held.error)) === cause)
  }
}

function whyHeld({ message, next }: AppError): string {
  return `${message} ${next} It is tried again every few seconds.`
}
