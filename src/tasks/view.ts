import { AppError } from '../base/errors.ts'
import type { SessionStatus } from '../domain/api.ts'
import type { ScheduleView } from '../domain/schedule.ts'
import { OPEN_STATES, type Task, type TaskView, type TaskWill } from '../domain/task.ts'
import { cleanLine, type TaskDetail, type TaskMention } from '../domain/task-requests.ts'
import type { Store, Tx } from '../store/store.ts'
import type { TaskFilter } from '../store/task-stores.ts'

/** Labels as the row holds them: with a space before and after each, so that a search finds whole labels. */
export function labelsColumn(labels: readonly string[]): string {
  return labels.length === 0 ? '' : ` ${[...new Set(labels)].join(' ')} `
}

/** The labels of a row. */
export function labelsIn(column: string): string[] {
  return column.split(' ').filter(Boolean)
}

/** Criteria as the row holds them: one per line. */
export function acceptanceColumn(criteria: readonly string[]): string {
  return criteria.map(cleanLine).join('\n')
}

/** Paths as the row holds them: one per line, each once. */
export function pathsColumn(paths: readonly string[]): string {
  return [...new Set(paths)].join('\n')
}

/** The items of a column that holds one per line. */
export function linesIn(column: string): string[] {
  return column === '' ? [] : column.split('\n')
}

/** Tasks as the API shows them, in the order of submission. The database writes them as JSON, so that there is one way to make a view. */
export async function readTaskViews(filter: TaskFilter, { tasks }: Store, tx?: Tx): Promise<TaskView[]> {
  return JSON.parse(`[${Buffer.from(await tasks.listAsJson(filter, tx))}]`) as TaskView[]
}

/** One task as the API shows it. */
export async function readTaskView(id: string, store: Store, tx?: Tx): Promise<TaskView> {
  return JSON.parse(await readTaskJson(id, store, tx)) as TaskView
}

/** The same as the text that the API sends. */
export async function readTaskJson(id: string, { tasks }: Store, tx?: Tx): Promise<string> {
  const json = await tasks.asJson(id, tx)
  if (json === undefined) throw new AppError('task_not_there', { ref: id })
  return json
}

/** A task with its parent, blockers, dependents and parts. */
export async function readTaskDetail(id: string, store: Store, tx?: Tx): Promise<TaskDetail> {
  const { tasks } = store
  const task = await readTaskView(id, store, tx)
  const parent = task.parent_id === null ? undefined : await tasks.get(task.parent_id, tx)
  const blockers = await tasks.of(task.after, tx)
  return {
    task,
    parent: parent ? mentionTask(parent) : null,
    blockers: blockers.sort((a, b) => a.position - b.position).map(mentionTask),
    dependents: (await tasks.dependentsOf(id, tx)).map(mentionTask),
    parts: (await tasks.childrenOf([id], tx)).map(mentionTask),
  }
}

export function mentionTask({ id, title, state }: Task): TaskMention {
  return { id, title, state }
}

/** The open tasks of a session, in the order in which they will run. */
export async function readTaskQueue(session: string, store: Store, tx?: Tx): Promise<TaskView[]> {
  const tasks = await readTaskViews({ session, states: OPEN_STATES }, store, tx)
  if (tasks.length === 0) return []
  return runOrder(tasks, (await store.sessions.get(session, tx))?.task_id)
}

/**
 * The order in which a session will take its open tasks, oldest first in `tasks`, as far as it can be known: those that it has begun
 * or is about to begin, then by priority and age among those whose blockers come before them. Tasks that wait for a failed task come
 * last: they do not run by themselves.
 */
function runOrder(tasks: readonly TaskView[], planned?: string | null): TaskView[] {
  const age = new Map(tasks.map(({ id }, at) => [id, at]))
  const ageOf = ({ id }: TaskView) => age.get(id) ?? 0
  // The next task is at the end of the array, where removing it costs nothing.
  const lastFirst = (a: TaskView, b: TaskView) =>
    begunRank(a, planned) - begunRank(b, planned) || a.priority - b.priority || ageOf(b) - ageOf(a)
  const missing = new Map(tasks.map(task => [task.id, task.state === 'blocked' ? task.open_blockers : 0]))
  const dependents = Map.groupBy(
    tasks.flatMap(task => task.after.map(blocker => ({ task, blocker }))),
    ({ blocker }) => blocker,
  )
  const order: TaskView[] = []
  const free = tasks.filter(({ id }) => missing.get(id) === 0).sort(lastFirst)
  for (let first = free.pop(); first; first = free.pop()) {
    order.push(first)
    for (const { task } of dependents.get(first.id) ?? []) {
      const left = (missing.get(task.id) ?? 0) - 1
      missing.set(task.id, left)
      if (left === 0) free.splice(insertionIndex(task, free, lastFirst), 0, task)
    }
  }
  const ordered = new Set(order)
  return [...order, ...tasks.filter(task => !ordered.has(task))]
}

/** The index at which a task belongs in a sorted list. */
function insertionIndex(
  task: TaskView,
  sorted: readonly TaskView[],
  compare: (a: TaskView, b: TaskView) => number,
): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const other = sorted[middle]
    if (other && compare(other, task) < 0) low = middle + 1
    else high = middle
  }
  return low
}

function begunRank({ id, state }: TaskView, planned: string | null | undefined): number {
  if (state === 'ready' || state === 'blocked') return id === planned ? 1 : 0
  return state === 'waiting' ? 2 : 3
}

/** The session that owns a queue. */
export interface QueueOwner {
  status: SessionStatus
  /** The session is over for now: no agent runs and none is about to start. */
  ended: boolean
  resumes_at: number | null
}

/** When a task of a queue will run, and how many come before it. */
export function predictTurn(
  id: string,
  queue: readonly TaskView[],
  session: QueueOwner,
): { will: TaskWill; ahead: number } {
  const ahead = Math.max(
    0,
    queue.findIndex(task => task.id === id),
  )
  const task = queue[ahead]
  return { will: task?.state === 'blocked' ? 'after' : turnInQueue(ahead, session), ahead }
}

function turnInQueue(ahead: number, session: QueueOwner): TaskWill {
  if (session.status === 'rate_limited') return session.resumes_at === null ? 'on_resume' : 'on_reset'
  if (session.status === 'waiting_input' && session.ended) return 'on_answer'
  if (session.status === 'completed') return ahead === 0 ? 'now' : 'in_line'
  if (session.ended || session.status === 'error') return 'on_resume'
  return ahead <= 1 ? 'next' : 'in_line' // the only task before it is at work, or about to be
}

/** A schedule in words: `every weekdays 22:00, below 50 % of the quota`. */
export function formatSchedule({ at, every, quota_below }: Pick<ScheduleView, 'at' | 'every' | 'quota_below'>): string {
  const below = quota_below === null ? [] : [`below ${quota_below} % of the quota`]
  const time = every !== null ? [`every ${every}`] : at !== null ? [`once, ${at}`] : []
  return [...time, ...below].join(', ')
}
