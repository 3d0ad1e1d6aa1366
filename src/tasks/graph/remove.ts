import { AppError } from '../../base/errors.ts'
import type { Task } from '../../domain/task.ts'
import { isHeld } from '../moves/move.ts'
import { countPart, standing } from '../moves/ripple.ts'
import { subjectOf } from '../moves/write.ts'
import type { TxParts } from '../parts.ts'

/** Tasks named in a refusal. */
const SHOWN = 8

/**
 * Removes a task for good. What comes after it, and its parts, would lose their ground: without `cascade` they are named and
 * nothing happens, with it they are removed as well, and what comes after those.
 */
export async function remove(task: Task, { cascade }: { cascade: boolean }, parts: TxParts): Promise<Task[]> {
  const { store, tx } = parts
  const others = await leaningOn(task, parts)
  if (others.length > 0 && !cascade) {
    throw new AppError('task_needed', { id: task.id, others: named(others), count: others.length })
  }
  const all = [task, ...others]
  const held = all.find(isHeld)
  if (held) throw new AppError('task_at_work', { id: held.id, session: held.session_id ?? held.id })
  const gone = new Set(all.map(({ id }) => id))
  for (const each of all) {
    const outside = each.parent_id !== null && !gone.has(each.parent_id)
    if (outside && each.parent_id) await countPart(each.parent_id, { parts: -1, [standing(each.state)]: -1 }, parts)
  }
  await store.tasks.remove([...gone], tx)
  for (const each of all) {
    const body = { task_id: each.id, title: each.title }
    await tx.append([{ actor: 'human', subject: subjectOf(each), kind: 'task.deleted', body }])
  }
  return all
}

/** Everything that comes after a task or is a part of it, however far. */
async function leaningOn(task: Task, { store, tx }: TxParts): Promise<Task[]> {
  const found = new Map<string, Task>([[task.id, task]])
  for (let level = [task]; level.length > 0; ) {
    const next = await store.tasks.childrenOf(
      level.map(({ id }) => id),
      tx,
    )
    for (const each of level) next.push(...(await store.tasks.dependentsOf(each.id, tx)))
    level = next.filter(({ id }) => !found.has(id))
    for (const each of level) found.set(each.id, each)
  }
  found.delete(task.id)
  return [...found.values()]
}

function named(tasks: Task[]): string {
  const names = tasks.slice(0, SHOWN).map(({ id, title }) => `${id} (${title})`)
  return [...names, ...(tasks.length > SHOWN ? [`${tasks.length - SHOWN} more`] : [])].join(', ')
}
