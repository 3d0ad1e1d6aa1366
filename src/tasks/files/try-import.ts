import type { Task } from '../../domain/task.ts'
import type { ImportedTask } from '../../domain/tasks/requests.ts'
import type { TasksParts } from '../parts.ts'
import { importTasks } from './import-tasks.ts'

/** Imports tasks to see whether that can be done, and undoes it. Throws what the import would. */
export async function tryImport(
  tasks: readonly ImportedTask[],
  where: { project: string; copy: boolean },
  parts: TasksParts,
): Promise<Task[]> {
  let added: Task[] = []
  const undone = parts.store.transaction(async tx => {
    added = await importTasks(tasks, where, { ...parts, tx })
    throw new Undo()
  })
  await undone.catch(error => (error instanceof Undo ? undefined : Promise.reject(error)))
  return added
}

class Undo extends Error {}
