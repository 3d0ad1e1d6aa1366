import { isDeepStrictEqual } from 'node:util'
import { parseJson } from '../../base/json.ts'
import { isBegun, isOver, type Task } from '../../domain/task.ts'
import type { ImportedTask, UpdateTask } from '../../domain/task-requests.ts'
import { addTaskDependency, removeTaskDependency } from '../graph.ts'
import type { TasksTxDeps } from '../transition.ts'
import { forceTask, updateTask } from '../update.ts'
import { acceptanceColumn, labelsColumn, pathsColumn } from '../view.ts'
import { titleKey } from './task-text.ts'

/** The tasks of a project by which the tasks and references of a file are recognized. */
export interface KnownTasks {
  /** The task that a task of the file is already; `byTitle` if only its title says so. */
  matches: ReadonlyMap<ImportedTask, { task: Task; byTitle: boolean }>
  /** The id of an existing task that a reference names: by its name in a file, or by a title that no other task has. */
  idOf(name: string): string | undefined
}

/**
 * Recognizes the tasks of a file that was imported before: by id, else by the name in the file, else by the title. Of several tasks with
 * one title, the first in the file is the first in the project, and open ones come first.
 */
export async function matchTasks(
  tasks: readonly ImportedTask[],
  project: string,
  { store, tx }: TasksTxDeps,
): Promise<KnownTasks> {
  // A task in the queue of a session belongs to that session.
  const existing = (await store.tasks.list({ project }, tx)).filter(
    ({ session_id, run_id }) => session_id === null || run_id !== null,
  )
  const byId = new Map(existing.map(task => [task.id, task]))
  const byAlias = new Map(existing.flatMap(task => (task.alias === null ? [] : [[task.alias, task] as const])))
  const matches = new Map<ImportedTask, { task: Task; byTitle: boolean }>()
  const taken = new Set<Task>()
  for (const wanted of tasks) {
    const task = wanted.id === undefined ? undefined : (byId.get(wanted.id) ?? byAlias.get(wanted.id))
    if (!task || taken.has(task)) continue
    taken.add(task)
    matches.set(wanted, { task, byTitle: false })
  }
  const byTitle = Map.groupBy(existing, ({ title }) => titleKey(title))
  for (const wanted of tasks) {
    if (matches.has(wanted)) continue
    const named = isName(wanted.id)
    // A task with another name in the file is another task, though the titles are the same.
    const free = (byTitle.get(titleKey(wanted.title)) ?? []).filter(
      task => !taken.has(task) && (task.alias === null || !named),
    )
    const task = free.find(({ state }) => !isOver(state)) ?? free[0]
    if (!task) continue
    taken.add(task)
    matches.set(wanted, { task, byTitle: true })
  }
  const idOf = (name: string) => {
    const titled = byTitle.get(titleKey(name)) ?? []
    return byAlias.get(name)?.id ?? (titled.length === 1 ? titled[0]?.id : undefined)
  }
  return { matches, idOf }
}

/** Whether an id of a file is a name that a person gave, by which the task is found later. Ids that a reader made have a space. */
export function isName(id: string | undefined): id is string {
  return id !== undefined && /^[\p{L}\p{N}][\p{L}\p{N}._/-]{0,99}$/u.test(id)
}

/** A task of the file that is there already and open, with the ids that its references stand for. */
export interface TaskUpdate {
  task: Task
  wanted: ImportedTask
  after: string[] | undefined
  parent: string | undefined
}

/** Removes the dependencies that the file does not name any more. Called for all tasks before any is added, because the order may be reversed. */
export async function dropDependencies({ task, after }: TaskUpdate, deps: TasksTxDeps): Promise<boolean> {
  if (after === undefined || isBegun(task)) return false
  const wanted = new Set(after)
  const edges = await deps.store.tasks.blockersOf([task.id], deps.tx)
  const gone = edges.filter(({ blocker_id }) => !wanted.has(blocker_id))
  for (const { blocker_id } of gone) await removeTaskDependency(task.id, blocker_id, deps)
  return gone.length > 0
}

/** Gives a task what the file says of it; what the file does not mention stays. Returns whether anything changed. */
export async function applyUpdate(
  { wanted, after, parent, ...update }: TaskUpdate,
  deps: TasksTxDeps,
): Promise<boolean> {
  const { store, tx } = deps
  let task = (await store.tasks.get(update.task.id, tx)) ?? update.task
  const changes = changesOf(task, wanted, parent)
  let isChanged = Object.keys(changes).length > 0
  if (isChanged) task = await updateTask(task, changes, deps)
  if (isName(wanted.id) && wanted.id !== task.id && wanted.id !== task.alias)
    task = (await store.tasks.swap(task, { alias: wanted.id }, tx)) ?? task
  const present = new Set((await store.tasks.blockersOf([task.id], tx)).map(({ blocker_id }) => blocker_id))
  for (const blocker of isBegun(task) ? [] : (after ?? []).filter(id => !present.has(id))) {
    task = await addTaskDependency(task.id, blocker, deps)
    isChanged = true
  }
  const { state = 'open' } = wanted
  // What is at work ends as its run says; the state of a task with parts follows from them.
  if (state === 'open' || task.children > 0 || isBegun(task)) return isChanged
  await forceTask(task, { to: state }, deps)
  return true
}

/** The fields of a task that the file gives another value. */
function changesOf(task: Task, wanted: ImportedTask, parent: string | undefined): UpdateTask {
  const { title, description, labels, acceptance, paths, budget, priority, feature, type, max_retries, model } = wanted
  const plain = { priority, feature, type, max_retries, model }
  const text = description?.trim()
  return {
    ...Object.fromEntries(
      Object.entries(plain).filter(
        ([name, value]) => value !== undefined && value !== task[name as keyof typeof plain],
      ),
    ),
    ...(title !== task.title && { title }),
    ...(text !== undefined && text !== '' && text !== task.description && { description: text }),
    ...(labels && labelsColumn(labels) !== task.labels && { labels }),
    ...(acceptance && acceptanceColumn(acceptance) !== task.acceptance && { acceptance }),
    ...(paths && pathsColumn(paths) !== task.paths && { paths }),
    ...(budget && !isDeepStrictEqual(budget, parseJson(task.budget ?? '')) && { budget }),
    ...(parent !== undefined && parent !== task.parent_id && { parent }),
  }
}
