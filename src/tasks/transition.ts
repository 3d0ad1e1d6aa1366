import { AppError } from '../base/errors.ts'
import { FORCED_MOVES, TASK_MOVES, type Task, type TaskState } from '../domain/task.ts'
import type { Move } from './moves/move.ts'
import { blockedBy, ripple } from './moves/ripple.ts'
import { movedError, write } from './moves/write.ts'
import type { TxParts } from './parts.ts'

export type { Move } from './moves/move.ts'

/** Moves a task and everything that depends on it, with the events that tell of it, in the caller's transaction. */
export async function transition(id: string, move: Move, parts: TxParts): Promise<Task> {
  const task = await parts.store.tasks.get(id, parts.tx)
  if (!task) throw new AppError('task_not_there', { ref: id })
  if (move.attempt !== undefined && move.attempt !== task.attempt) throw movedError(task)
  return moveTask(task, move, parts)
}

/** The same for a task that was read in this transaction. */
export async function moveTask(task: Task, move: Move, parts: TxParts): Promise<Task> {
  const moves = move.forced ? FORCED_MOVES : TASK_MOVES
  if (task.children > 0) throw new AppError('task_has_parts', { id: task.id, parts: task.children })
  if (!moves[task.state].includes(move.to)) throw refusal(task, move.to)
  // What it comes after may have been opened again while somebody worked on it.
  const isHeldUp = move.to === 'ready' && task.open_blockers > 0
  const moved = await write(task, isHeldUp ? await heldUp(task, move, parts) : move, parts)
  await ripple(task, moved, parts)
  return moved
}

async function heldUp(task: Task, move: Move, parts: TxParts): Promise<Move> {
  return { ...move, to: 'blocked', reason: (await blockedBy(task, parts)) ?? move.reason }
}

function refusal({ id, state, session_id }: Task, to: TaskState): AppError {
  return new AppError('task_move_refused', { id, from: state, to, session: session_id ?? '' })
}
