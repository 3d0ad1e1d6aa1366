import { AppError } from '../../base/errors.ts'
import type { NewEvent } from '../../domain/event.ts'
import type { Task, TaskState } from '../../domain/task.ts'
import type { TxParts } from '../parts.ts'
import { columnsOf, type Move } from './move.ts'

/** Writes a move and the event that tells of it; nothing follows from it yet. `also` is written with it. */
export async function write(task: Task, move: Move, parts: TxParts, also: Partial<Task> = {}): Promise<Task> {
  const { store, clock, tx } = parts
  const moved = await store.tasks.swap(task, { ...columnsOf(task, move, clock.now()), ...also }, tx)
  if (!moved) throw movedError((await store.tasks.get(task.id, tx)) ?? task)
  await tell(task, moved, parts, move.actor)
  return moved
}

/** Appends the event that says into which state a task came, and from which. */
export async function tell(before: Task, task: Task, { tx }: TxParts, actor = 'daemon'): Promise<void> {
  const { state, reason, result, wakes_at } = task
  const body = {
    task_id: task.id,
    title: task.title,
    from: before.state,
    attempt: task.attempt,
    ...(reason !== null && { reason }),
    ...(state === 'waiting' && wakes_at !== null && { wakes_at }),
    ...((state === 'done' || state === 'failed') && result !== null && { result }),
    ...(state === 'done' && task.verification !== null && { verification: task.verification }),
  }
  await tx.append([{ actor, subject: subjectOf(task), kind: KINDS[state], body }])
}

/** What is told of the task of a session's own queue belongs to the session; of any other, to the task. */
export function subjectOf({ id, session_id, run_id }: Pick<Task, 'id' | 'session_id' | 'run_id'>): string {
  return run_id === null ? (session_id ?? id) : id
}

/** Somebody else has moved it since it was read, or holds it. */
export function movedError({ id, state, attempt, session_id }: Task): AppError {
  return new AppError('task_moved', { id, state, attempt, session: session_id ?? '' })
}

const KINDS = {
  blocked: 'task.blocked',
  ready: 'task.readied',
  running: 'task.started',
  waiting: 'task.waiting',
  verifying: 'task.verifying',
  merging: 'task.merging',
  done: 'task.finished',
  failed: 'task.failed',
  cancelled: 'task.cancelled',
} as const satisfies Record<TaskState, NewEvent['kind']>
