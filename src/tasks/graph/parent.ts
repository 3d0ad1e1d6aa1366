import { AppError } from '../../base/errors.ts'
import type { Task } from '../../domain/task.ts'
import { countPart, holdUp, standing } from '../moves/ripple.ts'
import type { TxParts } from '../parts.ts'
import { storedAround } from './around.ts'
import { begin, end, wayTo } from './cycle.ts'

/** Makes a task a part of another one, or of none. */
export async function setParent(task: Task, parent: Task | undefined, parts: TxParts): Promise<void> {
  const { store, tx } = parts
  if (task.parent_id === (parent?.id ?? null)) return
  const old = task.parent_id === null ? undefined : await store.tasks.get(task.parent_id, tx)
  // What it is no part of any more must not count when the new place is looked at.
  const alone = (await store.tasks.swap(task, { parent_id: null }, tx)) ?? task
  if (parent) await refuseParent(alone, parent, parts)
  const moved = (await store.tasks.swap(alone, { parent_id: parent?.id ?? null }, tx)) ?? alone
  const [wasHeld, isHeld] = [isHeldUp(old), isHeldUp(parent)]
  if (wasHeld !== isHeld) await holdUp(moved, isHeld ? 1 : -1, parts)
  const stands = standing(task.state)
  // The new one first: the old one may be done without it, and what comes after that may be the new one.
  if (parent) await countPart(parent.id, { parts: 1, [stands]: 1 }, parts, task)
  if (old) await countPart(old.id, { parts: -1, [stands]: -1 }, parts)
}

/** Whether the parts of a task may not begin yet because of what it comes after. */
export function isHeldUp(parent: Task | undefined): boolean {
  return parent !== undefined && parent.open_blockers > 0
}

/** Only what nobody works on, or what has parts already, can be given one. */
export function refuseAsParent(parent: Task, project: string): void {
  if (parent.project !== project) throw new AppError('task_elsewhere', { id: parent.id, project: parent.project })
  if (parent.session_id !== null && parent.run_id === null)
    throw new AppError('task_of_session', { id: parent.id, session: parent.session_id, blocker: 'a part' })
  const isOpen = parent.state === 'ready' || parent.state === 'blocked' || parent.children > 0
  if (!isOpen) throw new AppError('task_begun', { id: parent.id, state: parent.state })
}

async function refuseParent(task: Task, parent: Task, parts: TxParts): Promise<void> {
  refuseAsParent(parent, task.project)
  const around = storedAround(parts)
  const way =
    (await wayTo(end(task.id), end(parent.id), around)) ?? (await wayTo(begin(parent.id), begin(task.id), around))
  if (!way) return
  const path = way[0] === task.id ? [...way, task.id] : [task.id, ...way]
  throw new AppError('task_cycle', { id: task.id, blocker: parent.id, path: path.join(' → ') })
}
