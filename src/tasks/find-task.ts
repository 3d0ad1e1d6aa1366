import { AppError } from '../base/errors.ts'
import type { Task } from '../domain/task.ts'
import type { Store, Tx } from '../store/store.ts'

/** The task whose id this is, or begins with this: with or without `t-`, in letters of any size. */
export async function findTask(ref: string, { tasks }: Store, tx?: Tx): Promise<Task> {
  const word = ref.trim().toLowerCase()
  const id = word.startsWith('t-') ? word : `t-${word}`
  if (!/^t-[0-9a-f]{1,6}$/.test(id)) throw new AppError('task_not_there', { ref })
  const [first, ...others] = id.length === 8 ? [await tasks.get(id, tx)] : await tasks.beginning(id, tx)
  if (!first) throw new AppError('task_not_there', { ref })
  if (others.length === 0) return first
  const matches = [first, ...others].map(task => task && `${task.id} (${task.title})`).join(', ')
  throw new AppError('task_ambiguous', { ref, matches })
}
