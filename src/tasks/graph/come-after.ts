import { AppError } from '../../base/errors.ts'
import type { Task } from '../../domain/task.ts'
import { blockedBy, holdUp, inTheWay } from '../moves/ripple.ts'
import { subjectOf } from '../moves/write.ts'
import type { TxParts } from '../parts.ts'
import { storedAround } from './around.ts'
import { begin, end, wayTo } from './cycle.ts'

/** Makes a task that has not begun come after another one. */
export async function comeAfter(id: string, blockerId: string, parts: TxParts): Promise<Task> {
  const { store, tx } = parts
  const [task, blocker] = [await found(id, parts), await found(blockerId, parts)]
  if (task.state !== 'ready' && task.state !== 'blocked' && task.children === 0) {
    throw new AppError('task_move_refused', { id, from: task.state, to: 'blocked', session: task.session_id ?? '' })
  }
  refuseStranger(task, blocker)
  if (blocker.state === 'cancelled') throw new AppError('task_cancelled', { id: blocker.id, title: blocker.title })
  const way = await wayTo(end(blockerId), begin(id), storedAround(parts))
  if (way) throw new AppError('task_cycle', { id, blocker: blockerId, path: [id, ...way].join(' → ') })
  const isNew = await store.tasks.link({ task_id: id, blocker_id: blockerId }, tx)
  if (!isNew) return task
  if (blocker.state !== 'done') await holdUp(task, 1, parts, inTheWay(blocker))
  await tx.append([told('task.linked', task, blocker)])
  return found(id, parts)
}

/** A task does not come after another one any more. */
export async function comeBeforeOrBeside(id: string, blockerId: string, parts: TxParts): Promise<Task> {
  const { store, tx } = parts
  const [task, blocker] = [await found(id, parts), await found(blockerId, parts)]
  const was = await store.tasks.unlink({ task_id: id, blocker_id: blockerId }, tx)
  if (!was) throw new AppError('task_not_after', { id, blocker: blockerId })
  if (blocker.state !== 'done') await holdUp(task, -1, parts)
  await tx.append([told('task.unlinked', task, blocker)])
  const now = await found(id, parts)
  const isNamed = now.state === 'blocked' && inTheWay(blocker) !== undefined
  return (isNamed && (await store.tasks.swap(now, { reason: await blockedBy(now, parts) }, tx))) || now
}

/** What stands before a task must be able to end: in the same project, and not behind the back of a session's queue. */
export function refuseStranger(task: Pick<Task, 'id' | 'project' | 'session_id' | 'run_id'>, blocker: Task): void {
  if (task.project !== blocker.project)
    throw new AppError('task_elsewhere', { id: blocker.id, project: blocker.project })
  const queue = task.run_id === null ? task.session_id : null
  if (queue !== null && blocker.session_id !== queue)
    throw new AppError('task_of_session', { id: task.id, session: queue, blocker: blocker.id })
}

function told(kind: 'task.linked' | 'task.unlinked', task: Task, blocker: Task) {
  const body = { task_id: task.id, title: task.title, blocker_id: blocker.id }
  return { actor: 'human', subject: subjectOf(task), kind, body }
}

async function found(id: string, { store, tx }: TxParts): Promise<Task> {
  const task = await store.tasks.get(id, tx)
  if (!task) throw new AppError('task_not_there', { ref: id })
  return task
}
