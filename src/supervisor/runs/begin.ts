import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import type { StartSession } from '../../domain/api.ts'
import type { BudgetLimits } from '../../domain/budget/budget.ts'
import { brainKeysIn } from '../../domain/config/environment-layer.ts'
import type { ModelStrategy } from '../../domain/runs/model-strategy.ts'
import type { Task } from '../../domain/task.ts'
import type { AttemptRow, RunRow } from '../../store/runs/rows.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Tasks } from '../../tasks/open.ts'
import { chooseModel } from '../models/choose-model.ts'
import type { ModelNames } from '../models/model-names.ts'
import { retryPlan, sinceReset } from '../retries/retry-plan.ts'
import { nameFromTask } from '../start/session-name.ts'
import type { BoundTask } from '../start/start-session.ts'
import { scopeOf } from './scope.ts'

export interface BeginParts {
  store: Store
  tasks: Tasks
  clock: Clock
  /** Starts a session for a task that is there already. */
  start(request: StartSession, bound: BoundTask): Promise<SessionRow>
  /** What the agent is told of a task. */
  brief(task: Task, attempts: readonly AttemptRow[], run: string): Promise<string>
}

export interface BeginOptions {
  env: Record<string, string>
  strategy: ModelStrategy
  model: string | undefined
  names: ModelNames
  limit: number | undefined
  /** How long a task waits for each try in a row after a cause that may pass. */
  retryMs: readonly number[]
  /** What is left of the run's budget. */
  budget: BudgetLimits | undefined
  /** Tasks of the target, for the agent to know how far it is. */
  total: number
}

export type Begun =
  /** `no`: nothing is free; somebody else was quicker. */
  | 'yes'
  | 'no'
  /** What it failed with may pass by itself: nothing begins before that time, because any other task would meet the same. */
  | { notBefore: number; why: string }

/** Begins the next attempt of a run: a fresh session for the next ready task. */
export async function beginNext(run: RunRow, options: BeginOptions, parts: BeginParts): Promise<Begun> {
  const { store } = parts
  const scope = scopeOf(run)
  const task = await store.transaction(tx => store.tasks.nextFree(scope, tx))
  if (!task) return 'no'
  const [ofTask, ofRun] = [await store.runs.attempts({ task: task.id }), await store.runs.attempts({ run: run.id })]
  const early = tooEarly(task, ofTask, { retryMs: options.retryMs, now: parts.clock.now() })
  if (early) return early
  const { strategy, names } = options
  const history = ofRun.length > 0 ? ofRun : ofTask
  const chosen = chooseModel(strategy, history, { names, task: task.id, hint: task.model, model: options.model })
  const request = requestFor(run, task, {
    prompt: await parts.brief(task, ofTask, run.id),
    model: chosen.model,
    env: options.env,
    budget: options.budget,
  })
  const place = { id: run.id, iteration: run.iterations + 1, total: options.limit ?? options.total }
  const bound = { run: place, text: task.description, take: claimOf(task, { run, model: chosen.model }, parts) }
  try {
    await parts.start(request, bound)
    return 'yes'
  } catch (error) {
    if (error instanceof AppError && error.code === 'task_moved') return 'no'
    throw error
  }
}

/** The times stand in the attempts' rows, so a restart waits no longer and no shorter. */
function tooEarly(
  { id, retries }: Task,
  attempts: readonly AttemptRow[],
  { retryMs, now }: { retryMs: readonly number[]; now: number },
): Begun | undefined {
  const history = sinceReset(attempts, retries)
  const plan = retryPlan(history, { maxRetries: Number.POSITIVE_INFINITY, retryMs })
  const last = history.at(-1)
  const notBefore = (last?.ended_at ?? 0) + (plan.again ? plan.afterMs : 0)
  // A clock that was set back leaves its end in the future: that is nothing to wait for.
  if (!plan.again || notBefore <= now || (last?.ended_at ?? 0) > now) return undefined
  return { notBefore, why: `${id} is tried again at ${new Date(notBefore).toISOString()}: ${last?.reason ?? ''}` }
}

interface Wanted {
  prompt: string
  model: string | undefined
  env: Record<string, string>
  budget: BudgetLimits | undefined
}

/** What the session of a run's task is started with. */
export function requestFor({ project, options }: RunRow, { title }: Task, wanted: Wanted): StartSession {
  const { limit: _, model: __, strategy: ___, max_retries: ____, verify: _____, budget: ______, ...session } = options
  const { prompt, model, env, budget } = wanted
  const keys = brainKeysIn(env)
  return {
    ...{ ...session, project, task: prompt, name: nameFromTask(title), env },
    ...((session.settings || Object.keys(keys).length > 0) && { settings: { ...session.settings, ...keys } }),
    ...(model !== undefined && { model }),
    ...(budget && { budget }),
  }
}

/** The claim, the attempt's row and the count of the run are one with the session's row. */
function claimOf(
  task: Task,
  { run, model }: { run: RunRow; model: string | undefined },
  { store, tasks, clock }: BeginParts,
): BoundTask['take'] {
  return async (session, tx) => {
    const now = await store.runs.get(run.id, tx)
    // A person has said meanwhile that nothing more is to begin.
    if (now?.state !== 'running' || now.stopping) throw new AppError('task_moved', { ...task, session: session.id })
    const claimed = await tasks.claimReady({ scope: scopeOf(run), run: run.id, session: session.id }, tx)
    if (claimed?.id !== task.id) throw new AppError('task_moved', { ...task, session: session.id })
    const iteration = run.iterations + 1
    await store.runs.update(run.id, { iterations: iteration }, tx)
    await store.runs.begin(
      {
        ...{ task_id: task.id, number: claimed.attempt, run_id: run.id, iteration, session_id: session.id },
        ...{ model: model ?? null, outcome: null, reason: null, result: null, next_model: null, failure: null },
        ...{ cost_usd: 0, started_at: clock.now(), ended_at: null },
      },
      tx,
    )
    return claimed
  }
}
