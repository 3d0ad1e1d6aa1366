import type { PastAttempt } from '../../domain/attempt.ts'
import type { RunPlan } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import type { Store } from '../../store/store.ts'
import type { RunRow } from '../../store/tables.ts'
import type { TaskEdge } from '../../store/task-stores.ts'
import type { WorktreeProvider } from '../session/worktree-provider.ts'
import { chooseModel } from './models.ts'
import { scopeOf } from './next-step.ts'
import type { RunSettings } from './run-settings.ts'

/** What a run would work through if every task went well, with the model of each. Starts nothing, claims nothing. */
export async function planRun(
  run: Pick<RunRow, 'project' | 'target' | 'options'>,
  settings: RunSettings,
  { store, ground }: { store: Store; ground: Pick<WorktreeProvider, 'look'> },
): Promise<RunPlan> {
  const { project, feature, task } = scopeOf(run)
  const filter = { project, feature, under: task }
  const tasks = await store.tasks.list(filter)
  const edges = await store.tasks.edges(filter)
  const known = new Set(tasks.map(({ id }) => id))
  const beyond = [...new Set(edges.map(({ blocker_id }) => blocker_id))].filter(id => !known.has(id))
  const others = await Promise.all(beyond.map(id => store.tasks.get(id)))
  const { order, heldUp } = plannedOrder({ tasks, edges, others: others.filter(each => each !== undefined) })
  const steps = order.slice(0, settings.limit)
  const pasts: PastAttempt[] = []
  const planned = []
  const place = await ground.look({ project, task: '' }, run.options)
  for (const each of steps) {
    const before = pasts.length > 0 ? pasts : await store.runs.attempts({ task: each.id })
    const { model, why } = modelFor(each, before, settings)
    pasts.push(wentWell(each, model))
    planned.push({ id: each.id, title: each.title, model: model ?? null, why })
  }
  return {
    ...{ project, target: run.target, steps: planned, held_up: heldUp, beyond_limit: order.length - steps.length },
    parallel: settings.parallel,
    in_place: 'why' in place ? place.why : null,
  }
}

function modelFor({ id, model: hint }: Task, before: readonly PastAttempt[], settings: RunSettings) {
  const { strategy, names, model } = settings
  return chooseModel(strategy, before, { names, task: id, hint, model })
}

function wentWell({ id, attempt }: Task, model: string | undefined): PastAttempt {
  const nothing = { reason: null, result: null, next_model: null }
  return { task_id: id, number: attempt + 1, model: model ?? null, outcome: 'done', ...nothing }
}

export interface OrderInput {
  /** Of the target, in the order of submission. */
  tasks: readonly Task[]
  edges: readonly TaskEdge[]
  /** What they come after and is not part of the target. */
  others: readonly Task[]
}

export interface PlannedOrder {
  order: Task[]
  heldUp: { id: string; title: string; why: string }[]
}

/**
 * The order in which tasks come up if each is done at its first try: highest priority first, then oldest, none before what it
 * comes after. A task with parts is not worked on itself: it is done with the last of them, and what holds it up holds up its
 * parts.
 */
export function plannedOrder({ tasks, edges, others }: OrderInput): PlannedOrder {
  const known = new Map([...others, ...tasks].map(task => [task.id, task]))
  const blockers = Map.groupBy(edges, ({ task_id }) => task_id)
  const dependents = Map.groupBy(edges, ({ blocker_id }) => blocker_id)
  const parts = Map.groupBy(tasks, ({ parent_id }) => parent_id ?? '')
  const done = new Set([...known.values()].filter(({ state }) => state === 'done').map(({ id }) => id))
  const atWork = new Set(tasks.filter(({ state }) => AT_WORK.has(state)).map(({ id }) => id))
  const blockerOf = (id: string | null): string | undefined => {
    for (let at = id; at !== null; at = known.get(at)?.parent_id ?? null) {
      const found = blockers.get(at)?.find(({ blocker_id }) => known.has(blocker_id) && !done.has(blocker_id))
      if (found) return found.blocker_id
    }
    return undefined
  }
  const isOpen = ({ id, state, children }: Task) =>
    children === 0 && (state === 'ready' || state === 'blocked') && !done.has(id)
  const order: Task[] = []
  const waiting = new Set(tasks.filter(isOpen))
  const ready = new Set<Task>()
  const look = (task: Task) => {
    if (waiting.has(task) && task.session_id === null && blockerOf(task.id) === undefined) {
      waiting.delete(task)
      ready.add(task)
    }
    for (const part of parts.get(task.id) ?? []) look(part)
  }
  /** What a task that is done lets come up: those after it, and those after the one that it was the last part of. */
  const finish = (id: string) => {
    done.add(id)
    const parent = known.get(id)?.parent_id
    if (parent && parts.get(parent)?.every(part => done.has(part.id) || part.state === 'cancelled')) finish(parent)
    for (const { task_id } of dependents.get(id) ?? []) {
      const task = known.get(task_id)
      if (task) look(task)
    }
  }
  for (const task of tasks) if (AT_WORK.has(task.state)) finish(task.id)
  for (const task of tasks) look(task)
  for (let next = first(ready); next; next = first(ready)) {
    ready.delete(next)
    order.push(next)
    finish(next.id)
  }
  const heldUp = [...waiting].map(({ id, title, session_id }) => {
    const blocker = known.get(blockerOf(id) ?? '')
    const why = blocker
      ? `comes after ${blocker.id}, which is ${wordOf(blocker, atWork)}`
      : `is in the queue of session ${session_id}`
    return { id, title, why }
  })
  return { order, heldUp }
}

const AT_WORK: ReadonlySet<Task['state']> = new Set(['running', 'waiting', 'verifying', 'merging'])

function wordOf({ id, state }: Task, atWork: ReadonlySet<string>): string {
  return atWork.has(id) ? 'at work' : state
}

/** Sets keep the order of arrival, not of submission. */
function first(ready: ReadonlySet<Task>): Task | undefined {
  let best: Task | undefined
  for (const task of ready) {
    const isSooner =
      !best || task.priority > best.priority || (task.priority === best.priority && task.position < best.position)
    if (isSooner) best = task
  }
  return best
}
