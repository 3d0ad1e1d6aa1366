import { AppError } from '../../../base/errors.ts'
import type { StartSession } from '../../../domain/api.ts'
import type { BudgetLimits } from '../../../domain/budget/budget.ts'
import type { ModelStrategy } from '../../../domain/runs/model-strategy.ts'
import type { Task } from '../../../domain/task.ts'
import type { Place } from '../../../domain/workspace/place.ts'
import type { AttemptRow, RunRow } from '../../../store/runs/rows.ts'
import type { SessionRow } from '../../../store/tables.ts'
import { agentByLabel } from '../../failover/agent-by-label.ts'
import { chooseModel } from '../../models/choose-model.ts'
import type { ModelNames } from '../../models/model-names.ts'
import type { Ground } from '../../place/ground.ts'
import type { BoundTask } from '../../start/start-session.ts'
import { chooseTask } from './choose-task.ts'
import type { HeldBack } from './held-back.ts'
import { requestFor } from './request-for.ts'
import { type TakeParts, takeOf } from './take.ts'
import { tooEarly } from './too-early.ts'

export interface BeginParts extends TakeParts {
  /** Starts a session for a task that is there already. */
  start(request: StartSession, bound: BoundTask): Promise<SessionRow>
  /** What the agent is told of a task. */
  brief(task: Task, about: { attempts: readonly AttemptRow[]; run: string; place: Place | undefined }): Promise<string>
  ground: Ground
  heldBack: HeldBack
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

export type Begun =
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
export async function beginNext(run: RunRow, options: BeginOptions, parts: BeginParts): Promise<Begun> {
  const { store, ground, heldBack } = parts
  const choice = await chooseTask(run, { ...options, not: heldBack.of(run.id) }, store)
  if (!('task' in choice)) return heldBack.next(run.id) ?? (choice.why === undefined ? 'no' : { why: choice.why })
  const { task } = choice
  const [ofTask, ofRun] = [await store.runs.attempts({ task: task.id }), await store.runs.attempts({ run: run.id })]
  const early = tooEarly(task, ofTask, { retryMs: options.retryMs, now: parts.clock.now() })
  if (early) return early
  const { strategy, names } = options
  const history = (ofRun.length > 0 ? ofRun : ofTask).map(each => ({ ...each, troubled: each.rounds > 1 }))
  const agent = agentByLabel(task, options.labels)
  const known = { names, task: task.id, hint: task.model, model: options.model }
  // The names of models are those of the run's own agent.
  const chosen = agent === undefined ? chooseModel(strategy, history, known) : { model: undefined }
  // Made for the number that the claim will have: git must not be waited for in a transaction.
  const found = await madeFor(task, run, parts)
  if ('heldBack' in found) return found
  const place = 'why' in found ? undefined : found
  const request = requestFor(run, task, {
    prompt: await parts.brief(task, { attempts: ofTask, run: run.id, place }),
    model: chosen.model,
    agent,
    env: options.env,
    budget: options.budget,
  })
  const bound = {
    run: { id: run.id, iteration: run.iterations + 1, total: options.limit ?? options.total },
    ...('why' in found ? { inPlace: { ...found, ...(await firstBegan(run, ofTask, store)) } } : { place: found }),
    text: task.description,
    take: takeOf(task, { run, model: chosen.model }, parts),
  }
  try {
    await parts.start(request, bound)
    return 'yes'
  } catch (error) {
    if (place) await ground.leave(place, { project: run.project, settings: run.options })
    if (error instanceof AppError && error.code === 'task_moved') return 'no'
    throw error
  }
}

/** Somebody else may be at work in its repository in the very moment, which says nothing of the task or of the run. */
async function madeFor(task: Task, run: RunRow, { ground, heldBack }: BeginParts) {
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
async function firstBegan(
  run: RunRow,
  ofTask: readonly AttemptRow[],
  { sessions }: BeginParts['store'],
): Promise<{ began?: string }> {
  const first = ofTask.find(({ run_id }) => run_id === run.id)
  const began = first && (await sessions.get(first.session_id))?.options.began
  return began === undefined ? {} : { began }
}
