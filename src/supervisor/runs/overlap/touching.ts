import { AT_WORK, type Task, type TaskScope } from '../../../domain/task.ts'
import type { Store } from '../../../store/store.ts'
import { linesIn } from '../../../tasks/view-of.ts'
import type { Touching } from './keep-apart.ts'
import { likelyPaths } from './likely-paths.ts'

/** Tasks that are looked at, from the front of the line: who looks further finds the same files again. */
const LOOKED_AT = 50

/** The ready tasks of a scope in their order, and those that are at work in its project, each with what it will probably touch. */
export async function touchingNow(
  scope: TaskScope,
  store: Store,
): Promise<{ ready: Touching[]; atWork: Touching[]; tasks: Map<string, Task> }> {
  const held = await store.tasks.list({ project: scope.project, states: AT_WORK })
  const ready = await store.transaction(tx => store.tasks.free(scope, LOOKED_AT, tx))
  const files = await filesAround([...ready, ...held], store)
  const touching = (task: Task) => ({ id: task.id, title: task.title, paths: likely(task, files) })
  return {
    ready: ready.map(touching),
    // A task of the person's own session works in the project itself, and is in nobody's worktree.
    atWork: held.filter(({ run_id }) => run_id !== null).map(touching),
    tasks: new Map(ready.map(task => [task.id, task])),
  }
}

interface Around {
  changed: Map<string, { task_id: string; files: string[] }[]>
  parts: Map<string, Task[]>
}

/** What was changed by those around tasks of which nobody has said anything. */
async function filesAround(tasks: readonly Task[], store: Store): Promise<Around> {
  const silent = tasks.filter(({ paths }) => paths === '')
  const parents = [...new Set(silent.flatMap(({ parent_id }) => parent_id ?? []))]
  const parts = await store.tasks.childrenOf(parents)
  const ids = [...new Set([...silent, ...parts].map(({ id }) => id).concat(parents))]
  const changed = await store.journal.filesOf(ids)
  return {
    changed: Map.groupBy(changed, ({ task_id }) => task_id),
    parts: Map.groupBy(parts, ({ parent_id }) => parent_id ?? ''),
  }
}

function likely({ id, parent_id, paths }: Task, { changed, parts }: Around): string[] {
  const of = (task: string | null) => (task === null ? [] : (changed.get(task) ?? []))
  const siblings = parent_id === null ? [] : (parts.get(parent_id) ?? []).filter(part => part.id !== id)
  return likelyPaths({
    declared: linesIn(paths),
    own: of(id),
    parent: of(parent_id),
    siblings: siblings.flatMap(part => of(part.id)),
  })
}
