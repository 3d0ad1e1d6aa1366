import { AT_WORK, type Task, type TaskState } from '../../domain/task.ts'
import type { TxParts } from '../parts.ts'
import { moveTask } from '../transition.ts'

/**
 * Takes the task that a session is to work on. What it was in the middle of comes first, since the conversation holds it;
 * then what its row names: the prompt that opens its agent was made for that one, while it waited for its place.
 */
export async function claimNext(session: string, parts: TxParts): Promise<Task | undefined> {
  const {
    store: { tasks },
    tx,
  } = parts
  const held = await tasks.atWork(session, tx)
  if (held && isAtWork(held.state)) return undefined
  const task = held ?? (await planned(session, parts)) ?? (await tasks.next(session, tx))
  if (!task) return undefined
  return moveTask(task, { to: 'running' }, parts)
}

async function planned(session: string, { store, tx }: TxParts): Promise<Task | undefined> {
  const row = await store.sessions.get(session, tx)
  const task = row?.task_id ? await store.tasks.get(row.task_id, tx) : undefined
  return task?.state === 'ready' ? task : undefined
}

function isAtWork(state: TaskState): boolean {
  return (AT_WORK as readonly TaskState[]).includes(state)
}
