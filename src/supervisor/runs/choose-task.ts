import { setTimeout as sleep } from 'node:timers/promises'
import type { KeptApartTask, RunDetail } from '../../domain/run.ts'
import { AT_WORK, type Task, type TaskScope } from '../../domain/task.ts'
import type { DescribedTask, PredictedOverlap } from '../../knowledge/overlap.ts'
import type { Store } from '../../store/store.ts'
import type { RunRow } from '../../store/tables.ts'
import { linesIn } from '../../tasks/view.ts'
import type { ComparedTasks } from '../knowledge/code-search.ts'
import { findHoldUp, scopeOf } from './next-step.ts'

/** The task that a run begins next, or why there is none although some are ready. */
export type TaskChoice = ({ task: Task } | { why: string | undefined }) & { apart: KeptApartTask[] }

/** Compares a task with others by what they say; rejects if there is no index of the project. */
export type PredictOverlap = (run: RunRow, compared: ComparedTasks, signal: AbortSignal) => Promise<PredictedOverlap[]>

/**
 * Chooses the ready task of the highest priority; among equals the oldest. In a run with several tasks at once, a task that will
 * probably touch the same files as one at work waits until that one is over. Tasks in `skipped` are never chosen.
 */
export async function chooseTask(
  run: RunRow,
  { parallel, skipped }: { parallel: number; skipped: ReadonlySet<string> },
  { store, predictOverlap }: { store: Store; predictOverlap?: PredictOverlap | undefined },
): Promise<TaskChoice> {
  if (parallel === 1) {
    const [scope, count] = [scopeOf(run), skipped.size + 1]
    const task = await store.transaction(async tx =>
      count === 1
        ? store.tasks.nextFree(scope, tx)
        : (await store.tasks.free(scope, count, tx)).find(({ id }) => !skipped.has(id)),
    )
    return task ? { task, apart: [] } : { why: undefined, apart: [] }
  }
  const { ready, atWork, tasks } = await readTouching(scopeOf(run), store)
  const free = ready.filter(({ id }) => !skipped.has(id))
  const { next, apart } = await chooseApart(free, atWork, predictor(run, predictOverlap))
  const task = next === undefined ? undefined : tasks.get(next)
  return task ? { task, apart } : { why: apart.map(describeKeptApart)[0], apart }
}

/** A task and the paths that it will probably touch; none where nothing is known. */
export interface Touching {
  id: string
  title: string
  paths: readonly string[]
  /** Its whole description. */
  text?: string
}

type FindLikelyOverlap = (
  task: Touching,
  others: readonly Touching[],
) => Promise<Pick<KeptApartTask, 'beside' | 'path'> | undefined>

/** So many tasks of the order are compared by what they say: further ones begin as if nothing were known. */
const MOST_COMPARED = 8

/**
 * Like `keepApart`, and where the paths of a task or of one at work are not known, what both say decides. Where nothing is at work, the first task
 * begins.
 */
export async function chooseApart(
  ready: readonly Touching[],
  atWork: readonly Touching[],
  findLikely: FindLikelyOverlap,
): Promise<{ next: string | undefined; apart: KeptApartTask[] }> {
  const apart: KeptApartTask[] = []
  let rest = ready
  for (let compared = 0; ; compared += 1) {
    const choice = keepApart(rest, atWork)
    apart.push(...choice.apart)
    const task = rest.find(({ id }) => id === choice.next)
    const unknown = atWork.filter(other => task && other.id !== task.id && !(task.paths.length && other.paths.length))
    const likely = task && compared < MOST_COMPARED && unknown.length > 0 ? await findLikely(task, unknown) : undefined
    if (!task || !likely) return { next: task?.id, apart }
    apart.push({ id: task.id, title: task.title, ...likely })
    rest = rest.slice(rest.indexOf(task) + 1)
  }
}

/** From this probability on, a task waits: of the pairs above it, six of ten did change a common file (docs/knowledge.md). */
const LIKELY = 0.5
/** A run does not wait longer for a prediction. */
const PREDICT_MS = 500

/** The prediction of a run: an index that is not there, or too slow, holds nothing back. */
function predictor(run: RunRow, predict: PredictOverlap | undefined): FindLikelyOverlap {
  const describe = ({ id, title, paths, text = title }: Touching): DescribedTask => ({ id, text, paths })
  return async (task, others) => {
    if (!predict) return undefined
    const late = new AbortController()
    const asked = predict(run, { task: describe(task), others: others.map(describe) }, late.signal).catch(() => [])
    const found = await Promise.race([asked, sleep(PREDICT_MS, [], { ref: false })])
    late.abort()
    const [first] = found.toSorted((a, b) => b.probability - a.probability)
    return first && first.probability >= LIKELY ? { beside: first.id, path: first.path } : undefined
  }
}

/**
 * The first task, in the given order, that may begin beside those at work, and the tasks before it that would touch the same files.
 * A task without known paths conflicts with none. Pure.
 */
export function keepApart(
  ready: readonly Touching[],
  atWork: readonly Touching[],
): { next: string | undefined; apart: KeptApartTask[] } {
  const apart: KeptApartTask[] = []
  for (const task of ready) {
    const overlap = findOverlap(task, atWork)
    if (!overlap) return { next: task.id, apart }
    apart.push({ id: task.id, title: task.title, ...overlap })
  }
  return { next: undefined, apart }
}

/** All ready tasks of a run that have to wait now, in their order: by their paths, or by what they say, as it was found at the last choice. */
export async function findKeptApart(
  run: RunRow,
  found: readonly KeptApartTask[],
  store: Store,
): Promise<RunDetail['kept_apart']> {
  const { ready, atWork } = await readTouching(scopeOf(run), store)
  const apart = ready.flatMap(task => {
    const overlap = findOverlap(task, atWork)
    if (overlap) return [{ id: task.id, title: task.title, ...overlap }]
    return found.filter(({ id, beside }) => id === task.id && atWork.some(other => other.id === beside))
  })
  return apart.map(task => ({ ...task, why: describeKeptApart(task) }))
}

/** `t-1 (Title) is kept apart from t-2, which is at work, because both will probably change src/api` */
function describeKeptApart({ id, title, beside, path }: KeptApartTask): string {
  const place = path === '.' ? 'files at the top of the project' : path
  return `${id} (${title}) is kept apart from ${beside}, which is at work, because both will probably change ${place}`
}

function findOverlap(
  { id, paths }: Touching,
  atWork: readonly Touching[],
): Pick<KeptApartTask, 'beside' | 'path'> | undefined {
  for (const other of atWork) {
    if (other.id === id) continue
    const path = paths.find(mine => other.paths.some(theirs => mayMeet(mine, theirs)))
    if (path !== undefined) return { beside: other.id, path }
  }
  return undefined
}

/** Only the first tasks of the order are compared: further ones mostly touch the same files again. */
const MAX_TASKS = 50

/** The ready tasks of a scope in their order, and the tasks at work in its project, each with the paths that it will probably touch. */
async function readTouching(
  scope: TaskScope,
  store: Store,
): Promise<{ ready: Touching[]; atWork: Touching[]; tasks: Map<string, Task> }> {
  const working = await listWorking(scope.project, store)
  const ready = await store.transaction(tx => store.tasks.free(scope, MAX_TASKS, tx))
  const files = await readNearbyChanges([...ready, ...working], store)
  const touching = (task: Task) => ({
    id: task.id,
    title: task.title,
    paths: likelyPathsOf(task, files),
    text: `${task.title}\n\n${task.description}`,
  })
  return {
    ready: ready.map(touching),
    atWork: working.map(touching),
    tasks: new Map(ready.map(task => [task.id, task])),
  }
}

/** The tasks at work in worktrees. Work that waits for a person does not count: nobody knows for how long. */
async function listWorking(project: string, store: Store): Promise<Task[]> {
  const working: Task[] = []
  for (const task of await store.tasks.list({ project, states: AT_WORK })) {
    // A task of a person's own session works in the project itself and has no worktree.
    if (task.run_id === null || task.session_id === null) continue
    if (task.state === 'running' || (await findHoldUp(task.session_id, task.id, store)) === undefined)
      working.push(task)
  }
  return working
}

interface NearbyChanges {
  changed: Map<string, { task_id: string; files: string[] }[]>
  parts: Map<string, Task[]>
}

/** The files that earlier attempts at the tasks, their parents and their siblings changed, for tasks without declared paths. */
async function readNearbyChanges(tasks: readonly Task[], store: Store): Promise<NearbyChanges> {
  const undeclared = tasks.filter(({ paths }) => paths === '')
  const parents = [...new Set(undeclared.flatMap(({ parent_id }) => parent_id ?? []))]
  const parts = await store.tasks.childrenOf(parents)
  const ids = [...new Set([...undeclared, ...parts].map(({ id }) => id).concat(parents))]
  const changed = await store.journal.filesOf(ids)
  return {
    changed: Map.groupBy(changed, ({ task_id }) => task_id),
    parts: Map.groupBy(parts, ({ parent_id }) => parent_id ?? ''),
  }
}

function likelyPathsOf({ id, parent_id, paths }: Task, { changed, parts }: NearbyChanges): string[] {
  const changesOf = (task: string | null) => (task === null ? [] : (changed.get(task) ?? []))
  const siblings = parent_id === null ? [] : (parts.get(parent_id) ?? []).filter(part => part.id !== id)
  return likelyPaths({
    declared: linesIn(paths),
    own: changesOf(id),
    parent: changesOf(parent_id),
    siblings: siblings.flatMap(part => changesOf(part.id)),
  })
}

/** The files that one attempt changed. */
export interface ChangedPaths {
  task_id: string
  files: readonly string[]
}

export interface PathSources {
  /** Paths that the task itself declares. */
  declared: readonly string[]
  /** Changes by attempts at the task itself. */
  own: readonly ChangedPaths[]
  /** Changes by attempts at the parent task. */
  parent: readonly ChangedPaths[]
  /** Changes by attempts at the other parts of the parent task. */
  siblings: readonly ChangedPaths[]
}

/** A file that this many siblings have changed will probably be changed by the next one too: an index, a table of routes. */
const MIN_SIBLINGS = 2

/**
 * The paths that a task will probably touch: the declared ones; else those that earlier attempts at it and at its parent have
 * changed, and those that several of its siblings have. A file that only one sibling changed does not count: it would keep all
 * parts of one task apart. Pure.
 */
export function likelyPaths({ declared, own, parent, siblings }: PathSources): string[] {
  if (declared.length > 0) return [...declared]
  const byFile = new Map<string, Set<string>>()
  for (const { task_id, files } of siblings) {
    for (const file of files) byFile.set(file, (byFile.get(file) ?? new Set()).add(task_id))
  }
  const shared = [...byFile].filter(([, tasks]) => tasks.size >= MIN_SIBLINGS).map(([file]) => file)
  return [...new Set([...own, ...parent].flatMap(({ files }) => files).concat(shared))]
}

/**
 * Whether two paths or patterns may match the same file. A path matches that file and everything below it; `*` matches any part of
 * a name, `?` one character, `**` any number of folders. Other syntax (`[ab]`, `{a,b}`) counts as matching any name. Pure.
 */
export function mayMeet(a: string, b: string): boolean {
  if (isPlain(a) && isPlain(b)) return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`)
  return foldersMeet(splitPattern(a), splitPattern(b))
}

function isPlain(path: string): boolean {
  return !/[*?[{]/.test(path)
}

/** A path with a file extension has nothing below it: otherwise every pattern for files would match every file. */
function splitPattern(path: string): string[] {
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
    isAny: character => character === '*',
    meet: (left, right) => left === right || left === '?' || right === '?',
  })
}

interface Matching {
  /** Whether a part matches any number of other parts, including none. */
  isAny(part: string): boolean
  meet(a: string, b: string): boolean
}

/** Whether two sequences of parts can match the same text. Computed from the ends: each row needs only the one below it. */
function sequencesMeet(a: readonly string[], b: readonly string[], { isAny, meet }: Matching): boolean {
  let below: boolean[] = []
  for (let i = a.length; i >= 0; i -= 1) {
    const row: boolean[] = []
    for (let j = b.length; j >= 0; j -= 1) {
      const [left, right] = [a[i], b[j]]
      if (left === undefined && right === undefined) row[j] = true
      else if (left !== undefined && isAny(left))
        row[j] = below[j] === true || (right !== undefined && row[j + 1] === true)
      else if (right !== undefined && isAny(right))
        row[j] = row[j + 1] === true || (left !== undefined && below[j] === true)
      else row[j] = left !== undefined && right !== undefined && meet(left, right) && below[j + 1] === true
    }
    below = row
  }
  return below[0] === true
}
