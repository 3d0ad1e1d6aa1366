import { AppError } from '../base/errors.ts'
import { quoteForShell } from '../base/words.ts'
import { isBegun, type Task } from '../domain/task.ts'
import type { TaskEdge } from '../store/task-stores.ts'
import type { FeatureLocation } from './features.ts'
import { nameTasks } from './find-task.ts'
import {
  changeOpenBlockers,
  countPart,
  eventSubject,
  findBlockedReason,
  partStateOf,
  reasonBlockedBy,
  type TasksTxDeps,
} from './transition.ts'

/** Makes a task that has not begun come after another one. */
export async function addTaskDependency(id: string, blockerId: string, deps: TasksTxDeps): Promise<Task> {
  const { store, tx } = deps
  const [task, blocker] = [await getTask(id, deps), await getTask(blockerId, deps)]
  if (id === blockerId) throw new AppError('task_cycle', { id, blocker: blockerId, path: `${id} → ${id}` })
  if (task.state !== 'ready' && task.state !== 'blocked' && task.children === 0) {
    throw new AppError('task_move_refused', { id, from: task.state, to: 'blocked' })
  }
  refuseForeignBlocker(task, blocker)
  if (blocker.state === 'cancelled') throw new AppError('task_cancelled', { id: blocker.id, title: blocker.title })
  const cycle = await findWaitPath(endPoint(blockerId), beginPoint(id), storedGraph(deps))
  if (cycle) throw new AppError('task_cycle', { id, blocker: blockerId, path: [id, ...cycle].join(' → ') })
  const isNew = await store.tasks.link({ task_id: id, blocker_id: blockerId }, tx)
  if (!isNew) return task
  if (blocker.state !== 'done') await changeOpenBlockers(task, 1, deps, reasonBlockedBy(blocker))
  await tx.append([linkEvent('task.linked', task, blocker)])
  return getTask(id, deps)
}

/** What a task comes after that is not done, and what a person types about it. Undefined if nothing like that keeps it from beginning. */
export async function findWaitFor(
  { id, project, parent_id }: Task,
  { tasks }: Pick<TasksTxDeps['store'], 'tasks'>,
): Promise<{ blockers: string; next: string } | undefined> {
  const edges = await tasks.blockersOf([id])
  const open = (await tasks.of(edges.map(({ blocker_id }) => blocker_id))).filter(({ state }) => state !== 'done')
  const [first] = open
  if (first) return { blockers: nameTasks(open), next: waysPast(first, { id, project }) }
  const parent = parent_id === null ? undefined : await tasks.get(parent_id)
  return parent && findWaitFor(parent, { tasks })
}

function waysPast(blocker: Task, { id, project }: Pick<Task, 'id' | 'project'>): string {
  switch (blocker.state) {
    case 'failed':
      return `Try ${blocker.id}, which failed, again with: pcc task reset ${blocker.id}`
    case 'cancelled':
      return `Do it without ${blocker.id}, which was cancelled: pcc task deps rm ${blocker.id} ${id}`
    case 'ready':
    case 'blocked':
      return `Run the tasks in their order with: pcc run ${quoteForShell(project)}`
    default:
      return `See how ${blocker.id} stands with: pcc task show ${blocker.id}`
  }
}

/** Removes the dependency of a task on another one. */
export async function removeTaskDependency(id: string, blockerId: string, deps: TasksTxDeps): Promise<Task> {
  const { store, tx } = deps
  const [task, blocker] = [await getTask(id, deps), await getTask(blockerId, deps)]
  const isRemoved = await store.tasks.unlink({ task_id: id, blocker_id: blockerId }, tx)
  if (!isRemoved) throw new AppError('task_not_after', { id, blocker: blockerId })
  if (blocker.state !== 'done') await changeOpenBlockers(task, -1, deps)
  await tx.append([linkEvent('task.unlinked', task, blocker)])
  const now = await getTask(id, deps)
  const isNamed = now.state === 'blocked' && reasonBlockedBy(blocker) !== undefined
  return (isNamed && (await store.tasks.swap(now, { reason: await findBlockedReason(now, deps) }, tx))) || now
}

/** A blocker must be able to end before the task: it must be in the same project, and for a session's queue in the same queue. */
export function refuseForeignBlocker(
  task: Pick<Task, 'id' | 'project' | 'session_id' | 'run_id'>,
  blocker: Task,
): void {
  if (task.project !== blocker.project)
    throw new AppError('task_elsewhere', { id: blocker.id, project: blocker.project })
  const queue = task.run_id === null ? task.session_id : null
  if (queue !== null && blocker.session_id !== queue)
    throw new AppError('task_of_session', { id: task.id, session: queue, blocker: blocker.id })
}

function linkEvent(kind: 'task.linked' | 'task.unlinked', task: Task, blocker: Task) {
  const body = { task_id: task.id, title: task.title, blocker_id: blocker.id }
  return { actor: 'human', subject: eventSubject(task), kind, body }
}

async function getTask(id: string, { store, tx }: TasksTxDeps): Promise<Task> {
  const task = await store.tasks.get(id, tx)
  if (!task) throw new AppError('task_not_there', { ref: id })
  return task
}

/** Makes a task a part of another one, or of none. */
export async function setParent(task: Task, parent: Task | undefined, deps: TasksTxDeps): Promise<void> {
  const { store, tx } = deps
  if (task.parent_id === (parent?.id ?? null)) return
  const old = task.parent_id === null ? undefined : await store.tasks.get(task.parent_id, tx)
  // The old parent must not count when the new one is checked for cycles.
  const alone = (await store.tasks.swap(task, { parent_id: null }, tx)) ?? task
  if (parent) await refuseParent(alone, parent, deps)
  const moved = (await store.tasks.swap(alone, { parent_id: parent?.id ?? null }, tx)) ?? alone
  const [wasBlocked, isBlocked] = [hasOpenBlockers(old), hasOpenBlockers(parent)]
  if (wasBlocked !== isBlocked) await changeOpenBlockers(moved, isBlocked ? 1 : -1, deps)
  const partState = partStateOf(task.state)
  // The new parent is counted first: the old one may become done, and the new one may come after it.
  if (parent) await countPart(parent.id, { parts: 1, [partState]: 1 }, deps, task)
  if (old) await countPart(old.id, { parts: -1, [partState]: -1 }, deps)
}

/** Whether the parts of a task may not begin yet because their parent has open blockers. */
export function hasOpenBlockers(parent: Task | undefined): boolean {
  return parent !== undefined && parent.open_blockers > 0
}

/** Only a task that nobody works on, or that has parts already, can get a part. */
export function refuseAsParent(parent: Task, project: string): void {
  if (parent.project !== project) throw new AppError('task_elsewhere', { id: parent.id, project: parent.project })
  if (parent.session_id !== null && parent.run_id === null)
    throw new AppError('task_of_session', { id: parent.id, session: parent.session_id, blocker: 'a part' })
  const isOpen = parent.state === 'ready' || parent.state === 'blocked' || parent.children > 0
  if (!isOpen) throw new AppError('task_begun', { id: parent.id, state: parent.state })
}

async function refuseParent(task: Task, parent: Task, deps: TasksTxDeps): Promise<void> {
  refuseAsParent(parent, task.project)
  const graph = storedGraph(deps)
  const cycle =
    (await findWaitPath(endPoint(task.id), endPoint(parent.id), graph)) ??
    (await findWaitPath(beginPoint(parent.id), beginPoint(task.id), graph))
  if (!cycle) return
  const path = cycle[0] === task.id ? [...cycle, task.id] : [task.id, ...cycle]
  throw new AppError('task_cycle', { id: task.id, blocker: parent.id, path: path.join(' → ') })
}

/** How many tasks a refusal names. */
const SHOWN = 8

/**
 * Removes a task for good. Tasks that come after it, and its parts, depend on it: without `cascade` they are named in an error and
 * nothing happens, with it they are removed as well, and so is everything that depends on them.
 */
export async function removeTask(task: Task, { cascade }: { cascade: boolean }, deps: TasksTxDeps): Promise<Task[]> {
  const { store, tx } = deps
  const others = await findDependingTasks(task, deps)
  if (others.length > 0 && !cascade) {
    throw new AppError('task_needed', { id: task.id, others: nameTasks(others), count: others.length })
  }
  const all = [task, ...others]
  const held = all.find(isBegun)
  if (held) throw new AppError('task_at_work', { id: held.id, session: held.session_id ?? held.id })
  const gone = new Set(all.map(({ id }) => id))
  for (const { parent_id, state } of all) {
    if (parent_id === null || gone.has(parent_id)) continue
    await countPart(parent_id, { parts: -1, [partStateOf(state)]: -1 }, deps)
  }
  await store.tasks.remove([...gone], tx)
  for (const removed of all) {
    const body = { task_id: removed.id, title: removed.title }
    await tx.append([{ actor: 'human', subject: eventSubject(removed), kind: 'task.deleted', body }])
  }
  return all
}

/** Everything that comes after a task or is a part of it, directly or indirectly. */
async function findDependingTasks(task: Task, { store, tx }: TasksTxDeps): Promise<Task[]> {
  const found = new Map<string, Task>([[task.id, task]])
  for (let level = [task]; level.length > 0; ) {
    const next = await store.tasks.childrenOf(
      level.map(({ id }) => id),
      tx,
    )
    for (const { id } of level) next.push(...(await store.tasks.dependentsOf(id, tx)))
    level = next.filter(({ id }) => !found.has(id))
    for (const dependent of level) found.set(dependent.id, dependent)
  }
  found.delete(task.id)
  return [...found.values()]
}

/** Removes all tasks of a feature with their parts. If tasks of others depend on them, those are named and nothing is removed. */
export async function removeFeatureTasks({ project, name }: FeatureLocation, deps: TasksTxDeps): Promise<void> {
  const { store, tx } = deps
  for (const { id } of await store.tasks.list({ project, feature: name }, tx)) {
    const task = await store.tasks.get(id, tx) // it may already have been removed with one that it depends on
    const gone = task ? await removeTask(task, { cascade: true }, deps) : []
    const ids = new Set(gone.map(removed => removed.id))
    const foreign = gone.filter(({ feature, parent_id }) => feature !== name && !ids.has(parent_id ?? ''))
    if (foreign.length === 0) continue
    const others = foreign.slice(0, SHOWN).map(({ id: other, title }) => `${other} (${title})`)
    throw new AppError('task_needed', { id, others: others.join(', '), count: foreign.length })
  }
}

/** The point at which a task may begin (`begin`), or is over (`end`). */
export interface GraphPoint {
  id: string
  at: 'begin' | 'end'
}

/** Reads the neighbours of tasks in the graph. */
interface GraphReader {
  blockersOf(ids: readonly string[]): Promise<TaskEdge[]>
  /** Pairs of a task and one of its parts. */
  partsOf(ids: readonly string[]): Promise<{ id: string; parent_id: string | null }[]>
  parentsOf(ids: readonly string[]): Promise<{ id: string; parent_id: string | null }[]>
}

/**
 * The path by which one point waits for another, as ids from the first to the last; undefined if it does not.
 *
 * A task ends after it has begun and after its parts have ended. It begins after its blockers have ended and once its parent may
 * begin. A new dependency is impossible exactly where the blocker already waits for the dependent.
 */
export async function findWaitPath(
  from: GraphPoint,
  to: GraphPoint,
  graph: GraphReader,
): Promise<string[] | undefined> {
  const cameFrom = new Map<string, string>()
  const goal = pointName(to)
  const seen = new Set([pointName(from)])
  for (let level = [from]; level.length > 0 && !seen.has(goal); ) {
    const next: GraphPoint[] = []
    for (const { before, waits } of await readWaits(level, graph)) {
      const name = pointName(before)
      if (seen.has(name)) continue
      seen.add(name)
      cameFrom.set(name, pointName(waits))
      next.push(before)
    }
    level = next
  }
  if (!seen.has(goal)) return undefined
  const path = [idOfPoint(goal)]
  for (let at = cameFrom.get(goal); at !== undefined; at = cameFrom.get(at)) {
    if (path.at(-1) !== idOfPoint(at)) path.push(idOfPoint(at))
  }
  return path.reverse()
}

async function readWaits(
  level: GraphPoint[],
  graph: GraphReader,
): Promise<{ waits: GraphPoint; before: GraphPoint }[]> {
  const ending = level.filter(({ at }) => at === 'end').map(({ id }) => id)
  const beginning = level.filter(({ at }) => at === 'begin').map(({ id }) => id)
  const parts = await graph.partsOf(ending)
  const blockers = await graph.blockersOf(beginning)
  const parents = await graph.parentsOf(beginning)
  return [
    ...ending.map(id => ({ waits: endPoint(id), before: beginPoint(id) })),
    ...parts.flatMap(({ id, parent_id }) =>
      parent_id === null ? [] : [{ waits: endPoint(parent_id), before: endPoint(id) }],
    ),
    ...blockers.map(({ task_id, blocker_id }) => ({ waits: beginPoint(task_id), before: endPoint(blocker_id) })),
    ...parents.flatMap(({ id, parent_id }) =>
      parent_id === null ? [] : [{ waits: beginPoint(id), before: beginPoint(parent_id) }],
    ),
  ]
}

/** The point at which a task may begin. */
function beginPoint(id: string): GraphPoint {
  return { id, at: 'begin' }
}

/** The point at which a task is over. */
export function endPoint(id: string): GraphPoint {
  return { id, at: 'end' }
}

function pointName({ id, at }: GraphPoint): string {
  return `${at}:${id}`
}

function idOfPoint(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

/** The graph as the store has it. */
export function storedGraph({ store: { tasks }, tx }: TasksTxDeps): GraphReader {
  return {
    blockersOf: ids => tasks.blockersOf(ids, tx),
    partsOf: ids => tasks.childrenOf(ids, tx),
    parentsOf: async ids => {
      const rows = await Promise.all(ids.map(id => tasks.get(id, tx)))
      return rows.filter(task => task !== undefined)
    },
  }
}
