import { AT_WORK, type Task, type TaskState } from '../domain/task.ts'
import type { TxParts } from './parts.ts'
import { transition } from './transition.ts'

/** Takes the task that a session is to work on: what it was in the middle of comes first, since the conversation holds it. */
export async function claimNext(session: string, parts: TxParts): Promise<Task | undefined> {
  const {
    store: { tasks },
    tx,
  } = parts
  const held = await tasks.atWork(session, tx)
  if (held && isAtWork(held.state)) return undefined
  const task = held ?? (await tasks.next(session, tx))
  if (!task) return undefined
  return transition(task.id, { to: 'running', attempt: task.attempt }, parts)
}

function isAtWork(state: TaskState): boolean {
  return (AT_WORK as readonly TaskState[]).includes(state)
}
