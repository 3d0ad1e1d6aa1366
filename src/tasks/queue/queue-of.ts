import { OPEN_STATES, type Task, type TaskView } from '../../domain/task.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { Edge } from '../../store/tasks/shapes.ts'
import { viewOf } from '../view-of.ts'

/** What is open in a session, in the order in which it will run. */
export async function queueOf(session: string, store: Store, tx?: Tx): Promise<TaskView[]> {
  const tasks = await store.tasks.list({ session, states: OPEN_STATES }, tx)
  if (tasks.length === 0) return []
  const edges = await store.tasks.blockersOf(idsOf(tasks), tx)
  const planned = (await store.sessions.get(session, tx))?.task_id
  return withEdges(runOrder(tasks, edges, planned), edges)
}

/** Tasks as the API shows them. */
export async function viewsOf(tasks: Task[], store: Store, tx?: Tx): Promise<TaskView[]> {
  return withEdges(tasks, await store.tasks.blockersOf(idsOf(tasks), tx))
}

/**
 * The order in which a session will take open tasks, as far as it can be known: what it has begun or is about to begin,
 * then by priority and age among those whose blockers are before them. What waits for a task that failed comes last: it does not run by itself.
 */
function runOrder(tasks: readonly Task[], edges: readonly Edge[], planned?: string | null): Task[] {
  // What is taken next stands at the end, where taking it costs nothing.
  const lastFirst = (a: Task, b: Task) =>
    begun(a, planned) - begun(b, planned) || a.priority - b.priority || b.position - a.position
  const open = new Set(idsOf(tasks))
  const missing = new Map(tasks.map(task => [task.id, task.state === 'blocked' ? task.open_blockers : 0]))
  const dependents = Map.groupBy(
    edges.filter(edge => open.has(edge.blocker_id)),
    edge => edge.blocker_id,
  )
  const byId = new Map(tasks.map(task => [task.id, task]))
  const order: Task[] = []
  const free = tasks.filter(({ id }) => missing.get(id) === 0).sort(lastFirst)
  for (let first = free.pop(); first; first = free.pop()) {
    order.push(first)
    for (const { task_id } of dependents.get(first.id) ?? []) {
      const left = (missing.get(task_id) ?? 0) - 1
      missing.set(task_id, left)
      const next = byId.get(task_id)
      if (left === 0 && next) free.splice(placeOf(next, free, lastFirst), 0, next)
    }
  }
  const placed = new Set(idsOf(order))
  return [...order, ...tasks.filter(({ id }) => !placed.has(id))]
}

/** Where a task belongs among sorted ones. */
function placeOf(task: Task, sorted: readonly Task[], compare: (a: Task, b: Task) => number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const other = sorted[middle]
    if (other && compare(other, task) < 0) low = middle + 1
    else high = middle
  }
  return low
}

function begun({ id, state }: Task, planned: string | null | undefined): number {
  if (state === 'ready' || state === 'blocked') return id === planned ? 1 : 0
  return state === 'waiting' ? 2 : 3
}

/** Tasks as the API shows them, with what they come after. */
export function withEdges(tasks: readonly Task[], edges: readonly Edge[]): TaskView[] {
  const after = Map.groupBy(edges, edge => edge.task_id)
  return tasks.map(task =>
    viewOf(
      task,
      (after.get(task.id) ?? []).map(edge => edge.blocker_id),
    ),
  )
}

function idsOf(tasks: readonly Task[]): string[] {
  return tasks.map(({ id }) => id)
}
