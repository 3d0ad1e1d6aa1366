import { AppError } from '../../base/errors.ts'
import type { StartSession } from '../../domain/api.ts'
import type { FirstTask, Task } from '../../domain/task.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Parts } from '../run.ts'

interface InTx {
  parts: Parts
  tx: Tx
  /** That of the first, where its worktree was made before. */
  id?: string | undefined
}

/** The queue that a request brings along: at least its task. Throws `bad_request` where the list does not hold together. */
export function firstTasks({ task, tasks }: StartSession): FirstTask[] {
  if (!tasks) return [{ text: task, priority: 0, after: [] }]
  if (tasks[0]?.text !== task) throw refused('tasks.0.text: it is not the text of task')
  const known = new Set<string>()
  for (const [index, { id, after }] of tasks.entries()) {
    const missing = after.find(name => !known.has(name))
    if (missing !== undefined) throw refused(`tasks.${index}.after: no task above it has the id "${missing}"`)
    if (id !== undefined && known.has(id)) throw refused(`tasks.${index}.id: "${id}" is taken by a task above it`)
    if (id !== undefined) known.add(id)
  }
  return tasks
}

/** Submits them in their order, each after those that it names. Returns the first: the one the session begins with. */
export async function submitFirst(row: SessionRow, tasks: FirstTask[], { parts, tx, id: own }: InTx): Promise<Task> {
  const [first, ...others] = tasks
  if (!first) throw new AppError('task_empty', {})
  const ids = new Map<string, string>()
  const submit = async ({ text, priority, id, after }: FirstTask, as?: string) => {
    const blockers = after.flatMap(name => ids.get(name) ?? [])
    const task = await parts.tasks.submit(
      { session_id: row.id, project: row.project, text, priority, after: blockers, id: as },
      tx,
    )
    if (id !== undefined) ids.set(id, task.id)
    return task
  }
  const begun = await submit(first, own)
  for (const other of others) await submit(other)
  return begun
}

function refused(problem: string): AppError {
  return new AppError('bad_request', { route: 'POST /sessions', problem })
}
