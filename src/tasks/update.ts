import { AppError } from '../base/errors.ts'
import type { Task } from '../domain/task.ts'
import type { UpdateTask } from '../domain/task-requests.ts'
import { findTask } from './find-task.ts'
import { setParent } from './graph.ts'
import { eventSubject, isHeld, isOver, type Move, moveTask, type TasksTxDeps } from './transition.ts'
import { acceptanceColumn, labelsColumn, pathsColumn } from './view.ts'

/** Changes what a person says of a task; its state is no part of that. */
export async function updateTask(task: Task, changes: UpdateTask, deps: TasksTxDeps): Promise<Task> {
  const { store, tx } = deps
  const { parent, labels, acceptance, paths, budget, ...plain } = changes
  const patch: Partial<Task> = {
    ...defined(plain),
    ...(labels && { labels: labelsColumn(labels) }),
    ...(acceptance && { acceptance: acceptanceColumn(acceptance) }),
    ...(paths && { paths: pathsColumn(paths) }),
    ...(budget !== undefined && { budget: budget === null ? null : JSON.stringify(budget) }),
  }
  const changed = Object.keys(patch).length === 0 ? task : ((await store.tasks.swap(task, patch, tx)) ?? task)
  if (parent !== undefined)
    await setParent(changed, parent === null ? undefined : await findTask(parent, store, tx), deps)
  const fields = Object.keys(defined(changes))
  const body = { task_id: task.id, title: changed.title, fields }
  await tx.append([{ actor: 'human', subject: eventSubject(task), kind: 'task.updated', body }])
  return (await store.tasks.get(task.id, tx)) ?? changed
}

function defined<T extends object>(values: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(kept) as { [Key in keyof T]: Exclude<T[Key], undefined> }
}

/** What a person says of a task. */
export interface ForcedState {
  to: 'done' | 'failed' | 'ready' | 'cancelled'
  reason?: string | undefined
}

/**
 * Does what a person says of a task, whatever its state is. Who works on it for a run has lost it: what they still report
 * counts for nothing. Of a task with parts only `ready` and `cancelled` can be said, and are said of every part.
 */
export async function forceTask(task: Task, { to, reason }: ForcedState, deps: TasksTxDeps): Promise<Task> {
  if (task.children === 0) return forceOne(task, forcedMove(to, reason), deps)
  if (to === 'done' || to === 'failed') throw new AppError('task_has_parts', { id: task.id, parts: task.children })
  const leaves = (await deps.store.tasks.list({ under: task.id }, deps.tx)).filter(({ children }) => children === 0)
  const meant = leaves.filter(leaf => (to === 'ready' ? isOver(leaf.state) || isHeld(leaf) : canCancel(leaf)))
  for (const leaf of meant) {
    // Another one of them may have changed it.
    const now = await deps.store.tasks.get(leaf.id, deps.tx)
    if (now) await forceOne(now, forcedMove(to, reason), deps)
  }
  return (await deps.store.tasks.get(task.id, deps.tx)) ?? task
}

function forcedMove(to: ForcedState['to'], reason: string | undefined): Move {
  return { to, forced: to !== 'cancelled', actor: 'human', ...(reason !== undefined && { reason }) }
}

async function forceOne(task: Task, move: Move, deps: TasksTxDeps): Promise<Task> {
  const isThere = task.state === move.to || (move.to === 'ready' && task.state === 'blocked')
  if (isThere) return task
  const own = task.run_id === null ? task.session_id : null
  if (own !== null && isHeld(task)) throw new AppError('task_at_work', { id: task.id, session: own })
  const moved = await moveTask(task, { ...move, anew: isHeld(task) }, deps)
  if (move.to !== 'ready') return moved
  return (await deps.store.tasks.swap(moved, { retries: 0, result: null }, deps.tx)) ?? moved
}

function canCancel({ state }: Task): boolean {
  return state !== 'done' && state !== 'cancelled'
}
