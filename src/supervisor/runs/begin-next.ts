import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import type { StartSession } from '../../domain/api.ts'
import type { BudgetLimits } from '../../domain/budget.ts'
import { brainKeysIn } from '../../domain/config/layers.ts'
import type { ModelStrategy } from '../../domain/option-values.ts'
import type { Task } from '../../domain/task.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import type { AttemptRow, RunRow, SessionRow } from '../../store/tables.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { type BoundTask, nameFromTask } from '../session/start-session.ts'
import type { WorktreeProvider } from '../session/worktree-provider.ts'
import { chooseTask } from './choose-task.ts'
import { chooseModel, type ModelNames } from './models.ts'
import { retryPlan, scopeOf, sinceReset } from './next-step.ts'

export interface BeginDeps extends ClaimDeps {
  /** Starts a session for a task that is there already. */
  start(request: StartSession, bound: BoundTask): Promise<SessionRow>
  /** What the agent is told of a task. */
  brief(
    task: Task,
    about: { attempts: readonly AttemptRow[]; run: string; place: Worktree | undefined },
  ): Promise<string>
  ground: WorktreeProvider
  heldBack: HeldBackTasks
}

export interface BeginOptions {
  env: Record<string, string>
  strategy: ModelStrategy
  model: string | undefined
  names: ModelNames
  limit: number | undefined
  /** Tasks at once. */
  parallel: number
  /** How long a task waits for each try in a row after a cause that may pass. */
  retryMs: readonly number[]
  /** What is left of the run's budget. */
  budget: BudgetLimits | undefined
  /** Agents by the label of a task. */
  labels: readonly string[]
  /** Tasks of the target, for the agent to know how far it is. */
  total: number
}

export type BeginResult =
  /** `no`: nothing is free; somebody else was quicker. */
  | 'yes'
  | 'no'
  /** There is no place for it in this moment: it is passed over for a while, and others may begin. */
  | { heldBack: string; why: string }
  /**
   * What it failed with may pass by itself: nothing begins before that time, because any other task would meet the same. Without a
   * time: what is ready would get in the way of what is at work.
   */
  | { notBefore?: number; why: string }

/** Begins the next attempt of a run: a fresh session for the next ready task, in a worktree of its own where there is git. */
export async function beginNext(run: RunRow, options: BeginOptions, deps: BeginDeps): Promise<BeginResult> {
  const { store, ground, heldBack } = deps
  const choice = await chooseTask(run, { ...options, not: heldBack.of(run.id) }, store)
  if (!('task' in choice)) return heldBack.next(run.id) ?? (choice.why === undefined ? 'no' : { why: choice.why })
  const { task } = choice
  const [ofTask, ofRun] = [await store.runs.attempts({ task: task.id }), await store.runs.attempts({ run: run.id })]
  const early = retryTime(task, ofTask, { retryMs: options.retryMs, now: deps.clock.now() })
  if (early) return early
  const { strategy, names } = options
  const history = (ofRun.length > 0 ? ofRun : ofTask).map(each => ({ ...each, troubled: each.rounds > 1 }))
  const agent = agentByLabel(task, options.labels)
  const known = { names, task: task.id, hint: task.model, model: options.model }
  // The names of models are those of the run's own agent.
  const chosen = agent === undefined ? chooseModel(strategy, history, known) : { model: undefined }
  // Made for the number that the claim will have: git must not be waited for in a transaction.
  const found = await makeWorktree(task, run, deps)
  if ('heldBack' in found) return found
  const place = 'why' in found ? undefined : found
  const request = requestFor(run, task, {
    prompt: await deps.brief(task, { attempts: ofTask, run: run.id, place }),
    model: chosen.model,
    agent,
    env: options.env,
    budget: options.budget,
  })
  const bound = {
    run: { id: run.id, iteration: run.iterations + 1, total: options.limit ?? options.total },
    ...('why' in found ? { inPlace: { ...found, ...(await readFirstBegan(run, ofTask, store)) } } : { place: found }),
    text: task.description,
    take: claimFor(task, { run, model: chosen.model }, deps),
  }
  try {
    await deps.start(request, bound)
    return 'yes'
  } catch (error) {
    if (place) await ground.leave(place, { project: run.project, settings: run.options })
    if (error instanceof AppError && error.code === 'task_moved') return 'no'
    throw error
  }
}

/** Somebody else may be at work in its repository in the very moment, which says nothing of the task or of the run. */
async function makeWorktree(task: Task, run: RunRow, { ground, heldBack }: BeginDeps) {
  try {
    const found = await ground.make({ project: run.project, task: task.id, attempt: task.attempt + 1 }, run.options)
    heldBack.free(task.id)
    return found
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'place_busy') throw error
    const why = `${error.message} ${error.next}`
    heldBack.hold(run.id, task.id, why)
    return { heldBack: task.id, why }
  }
}

/** An attempt in the project itself finds what those before it left there: all of them are measured from where the first began. */
async function readFirstBegan(
  run: RunRow,
  ofTask: readonly AttemptRow[],
  { sessions }: BeginDeps['store'],
): Promise<{ began?: string }> {
  const first = ofTask.find(({ run_id }) => run_id === run.id)
  const began = first && (await sessions.get(first.session_id))?.options.began
  return began === undefined ? {} : { began }
}

/**
 * When a task may be tried again that failed with what may pass by itself, and why not before; nothing where it may now. The times
 * stand in the attempts' rows, so a restart waits no longer and no shorter.
 */
function retryTime(
  { id, retries }: Task,
  attempts: readonly AttemptRow[],
  { retryMs, now }: { retryMs: readonly number[]; now: number },
): { notBefore: number; why: string } | undefined {
  const history = sinceReset(attempts, retries)
  const plan = retryPlan(history, { maxRetries: Number.POSITIVE_INFINITY, retryMs })
  const last = history.at(-1)
  const notBefore = (last?.ended_at ?? 0) + (plan.again ? plan.afterMs : 0)
  // A clock that was set back leaves its end in the future: that is nothing to wait for.
  if (!plan.again || notBefore <= now || (last?.ended_at ?? 0) > now) return undefined
  return { notBefore, why: `${id} is tried again at ${new Date(notBefore).toISOString()}: ${last?.reason ?? ''}` }
}

export interface SessionWishes {
  prompt: string
  model: string | undefined
  /** In place of the one of the run. */
  agent?: string | undefined
  env: Record<string, string>
  budget: BudgetLimits | undefined
}

/** What the session of a run's task is started with. */
export function requestFor({ project, options }: RunRow, { title }: Task, wanted: SessionWishes): StartSession {
  const { limit: _, model: __, strategy: ___, max_retries: ____, verify: _____, budget: ______, ...rest } = options
  const { parallel: _______, ...session } = rest
  const { prompt, model, agent, env, budget } = wanted
  const keys = brainKeysIn(env)
  return {
    ...{ ...session, project, task: prompt, name: nameFromTask(title), env },
    ...((session.settings || Object.keys(keys).length > 0) && { settings: { ...session.settings, ...keys } }),
    ...(model !== undefined && { model }),
    ...(agent !== undefined && { agent }),
    ...(budget && { budget }),
  }
}

/** The agent with which a task begins by one of its labels: the first pair of `failover.labels` ("docs=gemini") that fits. */
export function agentByLabel({ labels }: Pick<Task, 'labels'>, pairs: readonly string[]): string | undefined {
  const has = new Set(labels.split(' ').filter(Boolean))
  for (const pair of pairs) {
    const [label = '', ...agent] = pair.split('=')
    if (has.has(label.trim())) return agent.join('=').trim()
  }
  return undefined
}

interface ClaimDeps {
  store: Store
  tasks: Tasks
  clock: Clock
}

/** The claim, the attempt's row and the count of the run are one with the session's row. */
export function claimFor(
  task: Task,
  { run, model }: { run: RunRow; model: string | undefined },
  { store, tasks, clock }: ClaimDeps,
): BoundTask['take'] {
  return async (session, tx) => {
    const now = await store.runs.get(run.id, tx)
    // A person has said meanwhile that nothing more is to begin.
    if (now?.state !== 'running' || now.stopping) throw new AppError('task_moved', { ...task, session: session.id })
    const claim = { scope: scopeOf(run), run: run.id, session: session.id, only: task.id }
    const claimed = await tasks.claimReady(claim, tx)
    // Its place was made for this attempt.
    if (claimed?.attempt !== task.attempt + 1) throw new AppError('task_moved', { ...task, session: session.id })
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

/** Another git is soon done; one that left a lock behind when it died has to be found by a person, who is told. */
const WAITS_MS = [5_000, 15_000, 60_000]

interface HeldTask {
  run: string
  /** How often in a row. */
  times: number
  notBefore: number
  why: string
}

/**
 * Tasks for which there was no place in a moment in which somebody else was at work in their repository. They are ready and stay so;
 * their run passes them over for a while, so that the tasks behind them begin. A daemon that starts anew tries them at once.
 */
export class HeldBackTasks {
  readonly #clock: Clock
  readonly #held = new Map<string, HeldTask>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Passes a task over for a while: longer each time in a row. */
  hold(run: string, task: string, why: string): void {
    const times = (this.#held.get(task)?.times ?? 0) + 1
    const notBefore = this.#clock.now() + (WAITS_MS[times - 1] ?? WAITS_MS.at(-1) ?? 0)
    this.#held.set(task, { run, times, notBefore, why })
  }

  /** There is a place for it now. */
  free(task: string): void {
    this.#held.delete(task)
  }

  /** Its tasks that are passed over now. */
  of(run: string): ReadonlySet<string> {
    return new Set(this.#now(run).map(([task]) => task))
  }

  /** When the first of them is tried again, and why it was not begun; nothing where none is passed over. */
  next(run: string): { notBefore: number; why: string } | undefined {
    const [first] = this.#now(run).toSorted(([, a], [, b]) => a.notBefore - b.notBefore)
    if (!first) return undefined
    const [task, { notBefore, why }] = first
    return { notBefore, why: `${task} is tried again at ${new Date(notBefore).toISOString()}: ${why}` }
  }

  /** It has ended. */
  forget(run: string): void {
    for (const [task, held] of this.#held) if (held.run === run) this.#held.delete(task)
  }

  /** A clock that was set back leaves a time far in the future: that is nothing to wait for. */
  #now(run: string): [string, HeldTask][] {
    const now = this.#clock.now()
    const longest = WAITS_MS.at(-1) ?? 0
    return [...this.#held].filter(
      ([, held]) => held.run === run && held.notBefore > now && held.notBefore <= now + longest,
    )
  }
}
