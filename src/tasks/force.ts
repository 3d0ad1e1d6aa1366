import { AppError } from '../base/errors.ts'
import type { Task } from '../domain/task.ts'
import { isHeld, isOver, type Move } from './moves/move.ts'
import type { TxParts } from './parts.ts'
import { moveTask } from './transition.ts'

/** What a person says of a task. */
export interface Said {
  to: 'done' | 'failed' | 'ready' | 'cancelled'
  reason?: string | undefined
}

/**
 * Does what a person says of a task, whatever its state is. Who works on it for a run has lost it: what they still report
 * counts for nothing. Of a task with parts only `ready` and `cancelled` can be said, and are said of every part.
 */
export async function force(task: Task, { to, reason }: Said, parts: TxParts): Promise<Task> {
  if (task.children === 0) return forceOne(task, moveOf(to, reason), parts)
  if (to === 'done' || to === 'failed') throw new AppError('task_has_parts', { id: task.id, parts: task.children })
  const leaves = (await parts.store.tasks.list({ under: task.id }, parts.tx)).filter(({ children }) => children === 0)
  const meant = leaves.filter(leaf => (to === 'ready' ? isOver(leaf.state) || isHeld(leaf) : canCancel(leaf)))
  for (const leaf of meant) {
    // Another one of them may have changed it.
    const now = await parts.store.tasks.get(leaf.id, parts.tx)
    if (now) await forceOne(now, moveOf(to, reason), parts)
  }
  return (await parts.store.tasks.get(task.id, parts.tx)) ?? task
}

function moveOf(to: Said['to'], reason: string | undefined): Move {
  return { to, forced: to !== 'cancelled', actor: 'human', ...(reason !== undefined && { reason }) }
}

async function forceOne(task: Task, move: Move, parts: TxParts): Promise<Task> {
  const isThere = task.state === move.to || (move.to === 'ready' && task.state === 'blocked')
  if (isThere) return task
  const own = task.run_id === null ? task.session_id : null
  if (own !== null && isHeld(task)) throw new AppError('task_at_work', { id: task.id, session: own })
  const moved = await moveTask(task, { ...move, anew: isHeld(task) }, parts)
  if (move.to !== 'ready') return moved
  return (await parts.store.tasks.swap(moved, { retries: 0, result: null }, parts.tx)) ?? moved
}

function canCancel({ state }: Task): boolean {
  return state !== 'done' && state !== 'cancelled'
}
