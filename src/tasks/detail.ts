import type { Task } from '../domain/task.ts'
import type { TaskDetail, TaskMention } from '../domain/tasks/requests.ts'
import type { Store, Tx } from '../store/store.ts'
import { viewOf } from './view-of.ts'

/** A task with those around it. */
export async function detailOf(task: Task, { tasks }: Store, tx?: Tx): Promise<TaskDetail> {
  const blockers: Task[] = []
  for (const { blocker_id } of await tasks.blockersOf([task.id], tx)) {
    const blocker = await tasks.get(blocker_id, tx)
    if (blocker) blockers.push(blocker)
  }
  const parent = task.parent_id === null ? undefined : await tasks.get(task.parent_id, tx)
  return {
    task: viewOf(
      task,
      blockers.map(({ id }) => id),
    ),
    parent: parent ? mention(parent) : null,
    blockers: blockers.sort((a, b) => a.position - b.position).map(mention),
    dependents: (await tasks.dependentsOf(task.id, tx)).map(mention),
    parts: (await tasks.childrenOf([task.id], tx)).map(mention),
  }
}

function mention({ id, title, state }: Task): TaskMention {
  return { id, title, state }
}
