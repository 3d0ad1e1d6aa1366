import { AppError } from '../../base/errors.ts'
import type { Task } from '../../domain/task.ts'
import type { Tx } from '../../store/store.ts'
import type { Parts, Run } from '../run.ts'

/** Who calls a tool: one live session, and what it works with. */
export interface ToolCall {
  run: Run
  parts: Parts
}

/** The task that the session works on. Throws where it holds none: then it has nothing to say of one. */
export async function ownTask({ run, parts }: ToolCall, tx?: Tx): Promise<Task> {
  const { task_id } = run.row
  const task = task_id === null ? undefined : await parts.store.tasks.get(task_id, tx)
  const isOurs = task && (run.attempt === undefined || task.attempt === run.attempt)
  if (!task || !isOurs) throw new AppError('task_not_there', { ref: task_id ?? 'of this session' })
  return task
}

/** Counts a call of a kind that nothing else bounds. True while there may be more of them in this life of the session. */
export function mayCall(kind: string, most: number, { run }: ToolCall): boolean {
  const count = (run.toolCalls.get(kind) ?? 0) + 1
  run.toolCalls.set(kind, count)
  return count <= most
}
