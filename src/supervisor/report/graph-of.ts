import type { Task, TaskView } from '../../domain/task.ts'
import type { Store } from '../../store/store.ts'
import type { Tasks } from '../../tasks/open.ts'

/** More boxes are no picture any more. */
const MOST_BOXES = 150

/** What was worked on, what it comes after and what comes after it, in the order of submission. */
export async function graphOf(
  moved: readonly Task[],
  { store, tasks }: { store: Pick<Store, 'tasks'>; tasks: Pick<Tasks, 'view'> },
): Promise<TaskView[]> {
  const boxes = new Map(moved.slice(0, MOST_BOXES).map(task => [task.id, task]))
  if (moved.length <= MOST_BOXES) {
    const before = (await store.tasks.blockersOf([...boxes.keys()])).map(({ blocker_id }) => blocker_id)
    const after = await Promise.all(moved.map(({ id }) => store.tasks.dependentsOf(id)))
    const near = new Map([...(await store.tasks.of(before)), ...after.flat()].map(task => [task.id, task]))
    if (new Set([...boxes.keys(), ...near.keys()]).size <= MOST_BOXES)
      for (const [id, task] of near) boxes.set(id, task)
  }
  const inOrder = [...boxes.values()].toSorted((one, other) => one.position - other.position)
  return Promise.all(inOrder.map(task => tasks.view(task)))
}
