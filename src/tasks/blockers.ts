import { AppError } from '../base/errors.ts'
import type { Task } from '../domain/task.ts'
import type { TxParts } from './parts.ts'
import { inTheWay, transition } from './transition.ts'

/** Makes a task that has not begun come after another one. */
export async function comeAfter(id: string, blockerId: string, parts: TxParts): Promise<Task> {
  const { store, tx } = parts
  const [task, blocker] = [await found(id, parts), await found(blockerId, parts)]
  if (task.state !== 'ready' && task.state !== 'blocked') {
    throw new AppError('task_move_refused', { id, from: task.state, to: 'blocked', session: task.session_id ?? '' })
  }
  if (blocker.state === 'cancelled') throw new AppError('task_cancelled', { id: blocker.id, title: blocker.title })
  await refuseCycle(task, blocker, parts)
  const isNew = await store.tasks.link({ task_id: id, blocker_id: blockerId }, tx)
  if (!isNew || blocker.state === 'done') return task
  const reason = blocker.state === 'failed' ? inTheWay(blocker) : (task.reason ?? undefined)
  const patch = { open_blockers: task.open_blockers + 1, reason: reason ?? null }
  const counted = (await store.tasks.swap(task, patch, tx)) ?? task
  return task.state === 'ready' ? transition(id, { to: 'blocked', reason }, parts) : counted
}

/** Walks up from the blocker; meeting the task again, the way there is what would go round. */
async function refuseCycle(task: Task, blocker: Task, { store, tx }: TxParts): Promise<void> {
  const cameFrom = new Map<string, string>()
  const seen = new Set([blocker.id])
  let level = [blocker.id]
  while (level.length > 0 && !seen.has(task.id)) {
    const edges = await store.tasks.blockersOf(level, tx)
    level = []
    for (const edge of edges) {
      if (seen.has(edge.blocker_id)) continue
      seen.add(edge.blocker_id)
      cameFrom.set(edge.blocker_id, edge.task_id)
      level.push(edge.blocker_id)
    }
  }
  if (!seen.has(task.id)) return
  const way = [task.id]
  for (let at = cameFrom.get(task.id); at !== undefined; at = cameFrom.get(at)) way.push(at)
  const path = [task.id, ...way.reverse()].join(' → ')
  throw new AppError('task_cycle', { id: task.id, blocker: blocker.id, path })
}

async function found(id: string, { store, tx }: TxParts): Promise<Task> {
  const task = await store.tasks.get(id, tx)
  if (!task) throw new AppError('task_unknown', { session: '–', ref: id, known: 'no task with that id' })
  return task
}
