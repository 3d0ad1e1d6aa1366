import { AppError } from '../../base/errors.ts'
import { isOver, type Task } from '../../domain/task.ts'
import type { ImportedTask } from '../../domain/task-requests.ts'
import { submitTask } from '../submit.ts'
import type { TasksDeps, TasksTxDeps } from '../transition.ts'
import { applyUpdate, dropDependencies, isName, type KnownTasks, matchTasks } from './match-tasks.ts'
import { type FileProblem, tasksWrongError } from './task-text.ts'

export interface ImportOptions {
  project: string
  /** Gives new ids to tasks whose ids are in use. */
  copy: boolean
  /** The tasks come from a file that may have been imported before: those that are there are updated, and names in it are kept. */
  update?: boolean
  /** As in `findTask`. */
  only?: boolean | undefined
  /** The file as the person named it, for errors. */
  file?: string | undefined
}

export interface ImportResult {
  added: Task[]
  updated: Task[]
  /** They were there already, just as the file says. */
  same: Task[]
  /** They are over, and stay as they are. */
  over: Task[]
  /** Those of `updated` that were found by their title alone. */
  byTitle: Task[]
}

/** Stores all tasks of a file in the caller's transaction, or none. */
export async function importTasks(
  tasks: readonly ImportedTask[],
  { project, copy, update = false, only, file = 'the file' }: ImportOptions,
  deps: TasksTxDeps,
): Promise<ImportResult> {
  refuseDuplicates(tasks, file)
  const ordered = orderTasks(tasks)
  if ('cycle' in ordered) {
    throw tasksWrongError(file, [
      { line: ordered.line, problem: `tasks wait for one another: ${ordered.cycle.join(' → ')}` },
    ])
  }
  const known = update && !copy ? await matchTasks(tasks, project, deps) : NONE_KNOWN
  await refuseUnknown(tasks, { ...known, file, project, only }, deps)
  const taken = await findTakenIds(
    tasks.filter(task => !known.matches.has(task)),
    deps,
  )
  if (taken.size > 0 && !copy) throw new AppError('task_taken', { ids: nameSome([...taken]) })
  const names = new Set(tasks.flatMap(({ id }) => id ?? []))
  const ids = new Map<string, string>()
  for (const [{ id }, { task }] of known.matches) if (id !== undefined) ids.set(id, task.id)
  const realId = (name: string) => ids.get(name) ?? (names.has(name) ? name : (known.idOf(name) ?? name))
  const result: ImportResult = { added: [], updated: [], same: [], over: [], byTitle: [] }
  const updates = ordered.order.flatMap(wanted => {
    const task = known.matches.get(wanted)?.task
    if (task && isOver(task.state)) result.over.push(task)
    return task && !isOver(task.state) ? [{ task, wanted }] : []
  })
  const referenced = ({ after, parent }: ImportedTask) => ({
    after: after?.map(realId),
    parent: parent === undefined ? undefined : realId(parent),
  })
  const changed = new Set<string>()
  for (const { task, wanted } of updates)
    if (await dropDependencies({ task, wanted, ...referenced(wanted) }, deps)) changed.add(task.id)
  const withParts = new Set(tasks.flatMap(({ parent }) => parent ?? []))
  for (const wanted of ordered.order) {
    if (known.matches.has(wanted)) continue
    const { id, line: _, column: _at, state = 'open', description = '', ...rest } = wanted
    const keepsId = id !== undefined && OWN_ID.test(id) && !taken.has(id)
    const task = await submitTask(
      {
        ...rest,
        ...referenced(wanted),
        session_id: null,
        ...{ project, only },
        text: description,
        id: keepsId ? id : undefined,
        alias: wanted.alias ?? (update && isName(id) && !OWN_ID.test(id) ? id : undefined),
        // The state of a task with parts follows from them.
        over: state === 'open' || (id !== undefined && withParts.has(id)) ? undefined : state,
        asItWas: true,
        actor: 'human',
      },
      deps,
    )
    if (id !== undefined) ids.set(id, task.id)
    result.added.push(task)
  }
  for (const { task, wanted } of updates) {
    const isChanged = await applyUpdate({ task, wanted, ...referenced(wanted) }, deps)
    const now = (await deps.store.tasks.get(task.id, deps.tx)) ?? task
    const isUpdated = isChanged || changed.has(task.id)
    result[isUpdated ? 'updated' : 'same'].push(now)
    if (isUpdated && known.matches.get(wanted)?.byTitle) result.byTitle.push(now)
  }
  return result
}

const NONE_KNOWN: KnownTasks = { matches: new Map(), idOf: () => undefined }

const OWN_ID = /^t-[0-9a-f]{6}$/

/** With two tasks of the same id, a reference to it would be ambiguous. */
function refuseDuplicates(tasks: readonly ImportedTask[], file: string): void {
  const names = new Set<string>()
  const problems: FileProblem[] = []
  for (const { id, line = 0 } of tasks) {
    if (id === undefined) continue
    if (names.has(id))
      problems.push({ line, problem: `${JSON.stringify(id.slice(0, 60))} is the id of another task already` })
    names.add(id)
  }
  if (problems.length > 0) throw tasksWrongError(file, problems)
}

/** Refuses references to tasks that are neither in the file nor in the store. */
async function refuseUnknown(
  tasks: readonly ImportedTask[],
  { idOf, file, project, only }: KnownTasks & { file: string } & Pick<ImportOptions, 'project' | 'only'>,
  { store, tx }: TasksTxDeps,
): Promise<void> {
  const isSeen = async (id: string) => {
    const task = await store.tasks.get(id, tx)
    return task !== undefined && (!only || task.project === project)
  }
  const names = new Set(tasks.flatMap(({ id }) => id ?? []))
  const problems: FileProblem[] = []
  for (const { line = 0, column, after = [], parent } of tasks) {
    const place = { line, ...(column !== undefined && { column }) }
    for (const name of [...after, ...(parent === undefined ? [] : [parent])]) {
      if (names.has(name) || idOf(name) !== undefined || (OWN_ID.test(name) && (await isSeen(name)))) continue
      problems.push({ ...place, problem: `no task has the id or title ${JSON.stringify(name.slice(0, 60))}` })
    }
  }
  if (problems.length > 0) throw tasksWrongError(file, problems)
}

async function findTakenIds(tasks: readonly ImportedTask[], { store, tx }: TasksTxDeps): Promise<Set<string>> {
  const taken = new Set<string>()
  for (const { id } of tasks) {
    if (id !== undefined && OWN_ID.test(id) && (await store.tasks.get(id, tx))) taken.add(id)
  }
  return taken
}

const SHOWN = 8

function nameSome(ids: string[]): string {
  return [...ids.slice(0, SHOWN), ...(ids.length > SHOWN ? [`${ids.length - SHOWN} more`] : [])].join(', ')
}

/** Imports tasks to see whether that is possible, and undoes it. Throws what the import would. */
export async function tryImport(
  tasks: readonly ImportedTask[],
  where: ImportOptions,
  deps: TasksDeps,
): Promise<ImportResult> {
  let result: ImportResult = { added: [], updated: [], same: [], over: [], byTitle: [] }
  const undone = deps.store.transaction(async tx => {
    result = await importTasks(tasks, where, { ...deps, tx })
    throw new Undo()
  })
  await undone.catch(error => (error instanceof Undo ? undefined : Promise.reject(error)))
  return result
}

class Undo extends Error {}

/** The tasks so that each follows its blockers and its parent; or the ids of a cycle. */
export type TaskOrder = { order: ImportedTask[] } | { cycle: string[]; line: number }

/**
 * Puts the tasks of a file in the order in which they can be stored. A task begins after its blockers have ended and once its
 * parent may begin; it ends after its parts. Tasks in a cycle of these would wait for themselves for ever.
 */
function orderTasks(tasks: readonly ImportedTask[]): TaskOrder {
  const points = orderPoints(tasks)
  const state = new Map<OrderPoint, 'open' | 'left'>()
  const order: ImportedTask[] = []
  for (const point of points.all) {
    if (state.has(point)) continue
    // A stack instead of recursion: a chain may be as long as the file.
    const path: { point: OrderPoint; next: number }[] = [{ point, next: 0 }]
    state.set(point, 'open')
    for (let top = path.at(-1); top; top = path.at(-1)) {
      const before = top.point.waitsFor[top.next++]
      if (!before) {
        state.set(top.point, 'left')
        if (top.point.at === 'begin') order.push(top.point.task)
        path.pop()
      } else if (state.get(before) === 'open') {
        const cycle = [...path.slice(path.findIndex(step => step.point === before)).map(step => step.point), before]
        const names = cycle.map(({ task }) => nameOf(task)).filter((name, index, all) => name !== all[index - 1])
        return { cycle: names.length === 1 ? [...names, ...names] : names, line: before.task.line ?? 0 }
      } else if (!state.has(before)) {
        state.set(before, 'open')
        path.push({ point: before, next: 0 })
      }
    }
  }
  return { order }
}

interface OrderPoint {
  task: ImportedTask
  at: 'begin' | 'end'
  waitsFor: OrderPoint[]
}

function orderPoints(tasks: readonly ImportedTask[]): { all: OrderPoint[] } {
  const begins = tasks.map((task): OrderPoint => ({ task, at: 'begin', waitsFor: [] }))
  const ends = begins.map((begin): OrderPoint => ({ task: begin.task, at: 'end', waitsFor: [begin] }))
  const indexes = new Map(tasks.flatMap(({ id }, index) => (id === undefined ? [] : [[id, index] as const])))
  for (const [index, { after = [], parent }] of tasks.entries()) {
    const [begin, end] = [begins[index], ends[index]]
    const parentIndex = parent === undefined ? undefined : indexes.get(parent)
    for (const blockerIndex of after.map(name => indexes.get(name))) {
      const blocker = blockerIndex === undefined ? undefined : ends[blockerIndex]
      if (blocker) begin?.waitsFor.push(blocker)
    }
    const [parentBegin, parentEnd] = parentIndex === undefined ? [] : [begins[parentIndex], ends[parentIndex]]
    if (parentBegin) begin?.waitsFor.push(parentBegin)
    if (parentEnd && end) parentEnd.waitsFor.push(end)
  }
  return { all: [...begins, ...ends] }
}

function nameOf({ id, line }: ImportedTask): string {
  return id ?? `line ${line ?? '?'}`
}
