import { listPrice } from '../../agents/hooks/usage.ts'
import type { PastAttempt } from '../../domain/attempt.ts'
import type { PlannedModel, RunPlan } from '../../domain/run.ts'
import { isBegun, type Task } from '../../domain/task.ts'
import type { Store } from '../../store/store.ts'
import type { RunRow } from '../../store/tables.ts'
import type { ModelCost, TaskEdge } from '../../store/task-stores.ts'
import { filterOfScope } from '../../store/tasks.ts'
import type { WorktreeProvider } from '../session/worktree-provider.ts'
import { chooseModel } from './models.ts'
import { scopeOf } from './next-step.ts'
import type { RunSettings } from './run-settings.ts'

/** What a run would work through if every task went well, with the model of each. Starts nothing, claims nothing. */
export async function planRun(
  run: Pick<RunRow, 'project' | 'target' | 'options'>,
  settings: RunSettings,
  { store, worktrees }: { store: Store; worktrees: Pick<WorktreeProvider, 'look'> },
): Promise<RunPlan> {
  const { project } = run
  const filter = filterOfScope(scopeOf(run))
  const tasks = await store.tasks.list(filter)
  const edges = await store.tasks.edges(filter)
  const ids = new Set(tasks.map(({ id }) => id))
  const outside = [...new Set(edges.map(({ blocker_id }) => blocker_id))].filter(id => !ids.has(id))
  const others = await Promise.all(outside.map(id => store.tasks.get(id)))
  const { order, heldUp } = plannedOrder({ tasks, edges, others: others.filter(other => other !== undefined) })
  const planned = order.slice(0, settings.limit)
  let assumed: PastAttempt | undefined
  const steps = []
  const worktree = await worktrees.look({ project, task: '' }, run.options)
  for (const next of planned) {
    // Of attempts that all went well, the last is enough: with all of them, ten thousand tasks would take seconds.
    const history = assumed ? [assumed] : await store.runs.attempts({ task: next.id })
    const { model, why } = modelFor(next, history, settings)
    assumed = assumeDone(next, model)
    steps.push({ id: next.id, title: next.title, model: model ?? null, why })
  }
  return {
    ...{ project, target: run.target, steps, held_up: heldUp, beyond_limit: order.length - planned.length },
    ...{ strategy: settings.strategy, models: expectCosts(steps, await store.runs.costs()) },
    parallel: settings.parallel,
    in_place: 'why' in worktree && worktree.remedy === undefined ? worktree.why : null,
  }
}

/** How many of the tasks go to which model, and what they cost by what earlier attempts did. Pure. */
export function expectCosts(steps: readonly { model: string | null }[], past: readonly ModelCost[]): RunPlan['models'] {
  const models = [...Map.groupBy(steps, ({ model }) => model)].map(([model, { length: tasks }]): PlannedModel => {
    const own = past.filter(each => each.model === model || (model !== null && each.answered === model))
    if (own.length > 0) return { model, tasks, by: 'history', ...sumCosts(own, tasks, () => 1) }
    const price = listPrice(model)
    const priced = price ? past.filter(({ answered }) => listPrice(answered)) : []
    if (!price || priced.length === 0) return { model, tasks, by: null, cost_usd: null, attempts: 0 }
    // How much of a cost was input is not stored, and output costs another multiple of input with other models: the two count alike.
    const ratio = ({ answered }: ModelCost) => {
      const known = listPrice(answered) ?? price
      return (price.input / known.input + price.output / known.output) / 2
    }
    return { model, tasks, by: 'prices', ...sumCosts(priced, tasks, ratio) }
  })
  return models.toSorted((a, b) => b.tasks - a.tasks)
}

function sumCosts(past: readonly ModelCost[], tasks: number, ratio: (cost: ModelCost) => number) {
  const attempts = past.reduce((sum, each) => sum + each.attempts, 0)
  const cost = past.reduce((sum, each) => sum + each.cost_usd * each.attempts * ratio(each), 0)
  return { attempts, cost_usd: (cost / attempts) * tasks }
}

function modelFor({ id, model: hint }: Task, history: readonly PastAttempt[], settings: RunSettings) {
  const { strategy, names, model } = settings
  return chooseModel(strategy, history, { names, task: id, hint, model })
}

function assumeDone({ id, attempt }: Task, model: string | undefined): PastAttempt {
  const nothing = { reason: null, result: null, next_model: null }
  return { task_id: id, number: attempt + 1, model: model ?? null, outcome: 'done', ...nothing }
}

export interface OrderInput {
  /** The tasks of the target, in the order of submission. */
  tasks: readonly Task[]
  edges: readonly TaskEdge[]
  /** Tasks outside the target that block some of its tasks. */
  others: readonly Task[]
}

export interface PlannedOrder {
  order: Task[]
  heldUp: { id: string; title: string; why: string }[]
}

/**
 * The order in which tasks come up if each is done at its first attempt: highest priority first, then oldest, and none before its
 * blockers. Nobody works on a task that has parts: it is done with the last of them, and its blockers block its parts too.
 */
export function plannedOrder({ tasks, edges, others }: OrderInput): PlannedOrder {
  const byId = new Map([...others, ...tasks].map(task => [task.id, task]))
  const blockers = Map.groupBy(edges, ({ task_id }) => task_id)
  const dependents = Map.groupBy(edges, ({ blocker_id }) => blocker_id)
  const parts = Map.groupBy(tasks, ({ parent_id }) => parent_id ?? '')
  const done = new Set([...byId.values()].filter(({ state }) => state === 'done').map(({ id }) => id))
  const blockerOf = (id: string | null): string | undefined => {
    for (let at = id; at !== null; at = byId.get(at)?.parent_id ?? null) {
      const open = blockers.get(at)?.find(({ blocker_id }) => byId.has(blocker_id) && !done.has(blocker_id))
      if (open) return open.blocker_id
    }
    return undefined
  }
  const isOpen = ({ id, state, children }: Task) =>
    children === 0 && (state === 'ready' || state === 'blocked') && !done.has(id)
  const order: Task[] = []
  const waiting = new Set(tasks.filter(isOpen))
  const ready = new ReadyTasks([...waiting])
  const markReady = (task: Task) => {
    if (waiting.has(task) && task.session_id === null && blockerOf(task.id) === undefined) {
      waiting.delete(task)
      ready.add(task)
    }
    for (const part of parts.get(task.id) ?? []) markReady(part)
  }
  /** Frees the tasks that come after a finished one, and those after its parent if it was the parent's last part. */
  const finish = (id: string) => {
    done.add(id)
    const parent = byId.get(id)?.parent_id
    if (parent && parts.get(parent)?.every(part => done.has(part.id) || part.state === 'cancelled')) finish(parent)
    for (const { task_id } of dependents.get(id) ?? []) {
      const task = byId.get(task_id)
      if (task) markReady(task)
    }
  }
  // A plan assumes that every attempt goes well, those at work included.
  for (const task of tasks) if (isBegun(task)) finish(task.id)
  for (const task of tasks) markReady(task)
  for (let next = ready.takeFirst(); next; next = ready.takeFirst()) {
    order.push(next)
    finish(next.id)
  }
  const heldUp = [...waiting].map(({ id, title, session_id }) => {
    const blocker = byId.get(blockerOf(id) ?? '')
    const why = blocker
      ? `comes after ${blocker.id}, which is ${blocker.state}${wayOn(blocker, id)}`
      : `is in the queue of session ${session_id}`
    return { id, title, why }
  })
  return { order, heldUp }
}

/** What a person can do about a blocker that will not be done by itself. */
function wayOn({ id, state }: Task, dependent: string): string {
  if (state === 'failed') return `. Do that again with: pcc task reset ${id}`
  if (state === 'cancelled') return `. Let it begin without that: pcc task deps rm ${id} ${dependent}`
  return ''
}

/** Tasks that could begin. The first is that of the highest priority, of equal ones the oldest. */
class ReadyTasks {
  readonly #sorted: readonly Task[]
  readonly #rank: ReadonlyMap<Task, number>
  readonly #isReady: boolean[]
  /** No ready task comes before this one. */
  #from: number

  constructor(all: Task[]) {
    this.#sorted = all.toSorted((a, b) => b.priority - a.priority || a.position - b.position)
    this.#rank = new Map(this.#sorted.map((task, rank) => [task, rank]))
    this.#isReady = this.#sorted.map(() => false)
    this.#from = all.length
  }

  add(task: Task): void {
    const rank = this.#rank.get(task) ?? 0
    this.#isReady[rank] = true
    this.#from = Math.min(this.#from, rank)
  }

  takeFirst(): Task | undefined {
    const rank = this.#isReady.indexOf(true, this.#from)
    this.#from = rank < 0 ? this.#sorted.length : rank + 1
    if (rank >= 0) this.#isReady[rank] = false
    return this.#sorted[rank]
  }
}
