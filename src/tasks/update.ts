import type { Task } from '../domain/task.ts'
import type { UpdateTask } from '../domain/tasks/requests.ts'
import { findTask } from './find-task.ts'
import { setParent } from './graph/parent.ts'
import { subjectOf } from './moves/write.ts'
import type { TxParts } from './parts.ts'
import { acceptanceColumn, labelsColumn, pathsColumn } from './view-of.ts'

/** Changes what a person says of a task; its state is no part of that. */
export async function update(task: Task, changes: UpdateTask, parts: TxParts): Promise<Task> {
  const { store, tx } = parts
  const { parent, labels, acceptance, paths, budget, ...plain } = changes
  const patch: Partial<Task> = {
    ...defined(plain),
    ...(labels && { labels: labelsColumn(labels) }),
    ...(acceptance && { acceptance: acceptanceColumn(acceptance) }),
    ...(paths && { paths: pathsColumn(paths) }),
    ...(budget !== undefined && { budget: budget === null ? null : JSON.stringify(budget) }),
  }
  const changed = Object.keys(patch).length === 0 ? task : ((await store.tasks.swap(task, patch, tx)) ?? task)
  if (parent !== undefined)
    await setParent(changed, parent === null ? undefined : await findTask(parent, store, tx), parts)
  const fields = Object.keys(defined(changes))
  const body = { task_id: task.id, title: changed.title, fields }
  await tx.append([{ actor: 'human', subject: subjectOf(task), kind: 'task.updated', body }])
  return (await store.tasks.get(task.id, tx)) ?? changed
}

function defined<T extends object>(values: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(kept) as { [Key in keyof T]: Exclude<T[Key], undefined> }
}
