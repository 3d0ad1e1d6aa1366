import type { HeldBackTask } from '../../domain/run.ts'
import { AT_WORK, type Task, type TaskScope } from '../../domain/task.ts'
import type { Store } from '../../store/store.ts'
import type { RunRow } from '../../store/tables.ts'
import { linesIn } from '../../tasks/view.ts'
import { scopeOf } from './next-step.ts'

/** The task that a run takes next, or why there is none although some are ready. */
export type TaskChoice = { task: Task } | { why: string | undefined }

/**
 * The ready task of the highest priority, else the oldest. Where several are done at once, one that will probably touch the same files
 * as a task at work is passed over until that one is over. `not`: those that are passed over in any case.
 */
export async function chooseTask(
  run: RunRow,
  { parallel, not }: { parallel: number; not: ReadonlySet<string> },
  store: Store,
): Promise<TaskChoice> {
  if (parallel === 1) {
    const [scope, many] = [scopeOf(run), not.size + 1]
    const task = await store.transaction(async tx =>
      many === 1
        ? store.tasks.nextFree(scope, tx)
        : (await store.tasks.free(scope, many, tx)).find(({ id }) => !not.has(id)),
    )
    return task ? { task } : { why: undefined }
  }
  const { ready, atWork, tasks } = await readTouching(scopeOf(run), store)
  const { next, apart } = keepApart(
    ready.filter(({ id }) => !not.has(id)),
    atWork,
  )
  const task = next === undefined ? undefined : tasks.get(next)
  return task ? { task } : { why: apart.map(apartText)[0] }
}

/** A task and what it will probably touch; nothing where nobody knows. */
export interface Touching {
  id: string
  title: string
  paths: readonly string[]
}

/**
 * The first task, in their order, that may be begun beside those at work, and those before it that would touch the same files. What
 * nobody knows anything of is in nobody's way. Pure.
 */
export function keepApart(
  ready: readonly Touching[],
  atWork: readonly Touching[],
): { next: string | undefined; apart: HeldBackTask[] } {
  const apart: HeldBackTask[] = []
  for (const task of ready) {
    const met = firstMet(task, atWork)
    if (!met) return { next: task.id, apart }
    apart.push({ id: task.id, title: task.title, ...met })
  }
  return { next: undefined, apart }
}

/** All that have to wait now, wherever they stand in the line. */
export function allApart(ready: readonly Touching[], atWork: readonly Touching[]): HeldBackTask[] {
  return ready.flatMap(task => {
    const met = firstMet(task, atWork)
    return met ? [{ id: task.id, title: task.title, ...met }] : []
  })
}

function firstMet(
  { id, paths }: Touching,
  atWork: readonly Touching[],
): Pick<HeldBackTask, 'beside' | 'path'> | undefined {
  for (const other of atWork) {
    if (other.id === id) continue
    const path = paths.find(mine => other.paths.some(theirs => mayMeet(mine, theirs)))
    if (path !== undefined) return { beside: other.id, path }
  }
  return undefined
}

/** Why one waits, for the person. */
function apartText({ id, beside, path }: HeldBackTask): string {
  return `${id} waits for ${beside}, which is at work: both will probably touch ${path}`
}

/** Tasks that are looked at, from the front of the line: who looks further finds the same files again. */
const MOST_TASKS = 50

/** The ready tasks of a scope in their order, and those that are at work in its project, each with what it will probably touch. */
export async function readTouching(
  scope: TaskScope,
  store: Store,
): Promise<{ ready: Touching[]; atWork: Touching[]; tasks: Map<string, Task> }> {
  const held = await store.tasks.list({ project: scope.project, states: AT_WORK })
  const ready = await store.transaction(tx => store.tasks.free(scope, MOST_TASKS, tx))
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

/** What one attempt changed. */
export interface ChangedPaths {
  task_id: string
  files: readonly string[]
}

export interface KnownPaths {
  /** What was said of it. */
  declared: readonly string[]
  /** What its own attempts, those at the task that it is a part of, and those at the other parts of that have changed. */
  own: readonly ChangedPaths[]
  parent: readonly ChangedPaths[]
  siblings: readonly ChangedPaths[]
}

/** A file that so many other parts have changed is one that the next will change too: an index, a table of routes. */
const SEVERAL = 2

/**
 * What a task will probably touch: what was declared; else what earlier attempts at it and at the whole that it is a part of have
 * changed, and what several of its siblings have. What one sibling changed alone is that sibling's business: by it all parts of one
 * task would be kept apart. Pure.
 */
export function likelyPaths({ declared, own, parent, siblings }: KnownPaths): string[] {
  if (declared.length > 0) return [...declared]
  const byFile = new Map<string, Set<string>>()
  for (const { task_id, files } of siblings) {
    for (const file of files) byFile.set(file, (byFile.get(file) ?? new Set()).add(task_id))
  }
  const shared = [...byFile].filter(([, tasks]) => tasks.size >= SEVERAL).map(([file]) => file)
  return [...new Set([...own, ...parent].flatMap(({ files }) => files).concat(shared))]
}

/**
 * Whether some file may be meant by both of two paths or patterns. A path means that file and all that is below it; `*` is any
 * part of a name, `?` one sign of it, `**` any number of folders. What is written in another way of matching (`[ab]`, `{a,b}`) may
 * be any name. Pure.
 */
export function mayMeet(a: string, b: string): boolean {
  if (isPlain(a) && isPlain(b)) return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`)
  return foldersMeet(partsOf(a), partsOf(b))
}

function isPlain(path: string): boolean {
  return !/[*?[{]/.test(path)
}

/** A name that ends like that of a file has nothing below it, or every pattern for files would meet every file. */
function partsOf(path: string): string[] {
  return isPlain(path) && /[^/]\.[a-z]\w*$/i.test(path) ? path.split('/') : [...path.split('/'), ANY_FOLDERS]
}

const ANY_FOLDERS = '**'

function foldersMeet(a: readonly string[], b: readonly string[]): boolean {
  return sequencesMeet(a, b, { isAny: part => part === ANY_FOLDERS, meet: namesMeet })
}

function namesMeet(a: string, b: string): boolean {
  if (a === b) return true
  if (/[[{]/.test(a) || /[[{]/.test(b)) return true
  if (!/[*?]/.test(a) && !/[*?]/.test(b)) return false
  return sequencesMeet([...a], [...b], {
    isAny: sign => sign === '*',
    meet: (one, other) => one === other || one === '?' || other === '?',
  })
}

interface Signs {
  /** Stands for any number of others, none included. */
  isAny(part: string): boolean
  meet(a: string, b: string): boolean
}

/** Whether two sequences can be read as the same, from their ends to their beginnings: each row needs only the one below it. */
function sequencesMeet(a: readonly string[], b: readonly string[], { isAny, meet }: Signs): boolean {
  let below: boolean[] = []
  for (let i = a.length; i >= 0; i -= 1) {
    const row: boolean[] = []
    for (let j = b.length; j >= 0; j -= 1) {
      const [one, other] = [a[i], b[j]]
      if (one === undefined && other === undefined) row[j] = true
      else if (one !== undefined && isAny(one))
        row[j] = below[j] === true || (other !== undefined && row[j + 1] === true)
      else if (other !== undefined && isAny(other))
        row[j] = row[j + 1] === true || (one !== undefined && below[j] === true)
      else row[j] = one !== undefined && other !== undefined && meet(one, other) && below[j + 1] === true
    }
    below = row
  }
  return below[0] === true
}
