import type { SessionStatus } from '../domain/api.ts'
import type { ScheduleView } from '../domain/schedule.ts'
import { OPEN_STATES, type Task, type TaskView, type TaskWill } from '../domain/task.ts'
import { cleanLine, type TaskDetail, type TaskMention } from '../domain/task-requests.ts'
import type { Store, Tx } from '../store/store.ts'
import type { TaskEdge } from '../store/task-stores.ts'

/** A task as the API shows it. It is copied field by field: for ten thousand rows, removing fields costs ten times as much. */
function toTaskView(task: Task, after: string[]): TaskView {
  return {
    id: task.id,
    session_id: task.session_id,
    project: task.project,
    title: task.title,
    description: task.description,
    state: task.state,
    reason: task.reason,
    priority: task.priority,
    after,
    attempt: task.attempt,
    created_at: task.created_at,
    started_at: task.started_at,
    ended_at: task.ended_at,
    wakes_at: task.wakes_at,
    result: task.result,
    parent_id: task.parent_id,
    feature: task.feature,
    type: task.type,
    labels: splitLabels(task.labels),
    acceptance: linesIn(task.acceptance),
    paths: linesIn(task.paths),
    verification: task.verification,
    retries: task.retries,
    max_retries: task.max_retries,
    open_blockers: task.open_blockers,
    children: task.children,
    children_open: task.children_open,
    children_failed: task.children_failed,
    children_done: task.children_done,
    run_id: task.run_id,
    model: task.model,
    budget: task.budget === null ? null : (JSON.parse(task.budget) as Record<string, number>),
  }
}

/** Labels as the row holds them: with a space before and after each, so that a search finds whole labels. */
export function labelsColumn(labels: readonly string[]): string {
  return labels.length === 0 ? '' : ` ${[...new Set(labels)].join(' ')} `
}

/** Criteria as the row holds them: one per line. */
export function acceptanceColumn(criteria: readonly string[]): string {
  return criteria.map(cleanLine).join('\n')
}

/** Paths as the row holds them: one per line, each once. */
export function pathsColumn(paths: readonly string[]): string {
  return [...new Set(paths)].join('\n')
}

function splitLabels(column: string): string[] {
  return column === '' ? [] : column.trim().split(' ')
}

/** The items of a column that holds one per line. */
export function linesIn(column: string): string[] {
  return column === '' ? [] : column.split('\n')
}

/** A task with its parent, blockers, dependents and parts. */
export async function readTaskDetail(task: Task, { tasks }: Store, tx?: Tx): Promise<TaskDetail> {
  const blockers: Task[] = []
  for (const { blocker_id } of await tasks.blockersOf([task.id], tx)) {
    const blocker = await tasks.get(blocker_id, tx)
    if (blocker) blockers.push(blocker)
  }
  const parent = task.parent_id === null ? undefined : await tasks.get(task.parent_id, tx)
  return {
    task: toTaskView(
      task,
      blockers.map(({ id }) => id),
    ),
    parent: parent ? mention(parent) : null,
    blockers: blockers.sort((a, b) => a.position - b.position).map(mention),
    dependents: (await tasks.dependentsOf(task.id, tx)).map(mention),
    parts: (await tasks.childrenOf([task.id], tx)).map(mention),
  }
}

function mention({ id, title, state }: Task): TaskMention {
  return { id, title, state }
}

/** The open tasks of a session, in the order in which they will run. */
export async function readTaskQueue(session: string, store: Store, tx?: Tx): Promise<TaskView[]> {
  const tasks = await store.tasks.list({ session, states: OPEN_STATES }, tx)
  if (tasks.length === 0) return []
  const edges = await store.tasks.blockersOf(idsOf(tasks), tx)
  const planned = (await store.sessions.get(session, tx))?.task_id
  return toTaskViews(runOrder(tasks, edges, planned), edges)
}

/** Tasks as the API shows them. */
export async function readTaskViews(tasks: Task[], store: Store, tx?: Tx): Promise<TaskView[]> {
  return toTaskViews(tasks, await store.tasks.blockersOf(idsOf(tasks), tx))
}

/**
 * The order in which a session will take its open tasks, as far as it can be known: those that it has begun or is about to begin,
 * then by priority and age among those whose blockers come before them. Tasks that wait for a failed task come last: they do not
 * run by themselves.
 */
function runOrder(tasks: readonly Task[], edges: readonly TaskEdge[], planned?: string | null): Task[] {
  // The next task is at the end of the array, where removing it costs nothing.
  const lastFirst = (a: Task, b: Task) =>
    begunRank(a, planned) - begunRank(b, planned) || a.priority - b.priority || b.position - a.position
  const open = new Set(idsOf(tasks))
  const missing = new Map(tasks.map(task => [task.id, task.state === 'blocked' ? task.open_blockers : 0]))
  const dependents = Map.groupBy(
    edges.filter(edge => open.has(edge.blocker_id)),
    edge => edge.blocker_id,
  )
  const byId = new Map(tasks.map(task => [task.id, task]))
  const order: Task[] = []
  const free = tasks.filter(({ id }) => missing.get(id) === 0).sort(lastFirst)
  for (let first = free.pop(); first; first = free.pop()) {
    order.push(first)
    for (const { task_id } of dependents.get(first.id) ?? []) {
      const left = (missing.get(task_id) ?? 0) - 1
      missing.set(task_id, left)
      const next = byId.get(task_id)
      if (left === 0 && next) free.splice(insertionIndex(next, free, lastFirst), 0, next)
    }
  }
  const ordered = new Set(idsOf(order))
  return [...order, ...tasks.filter(({ id }) => !ordered.has(id))]
}

/** The index at which a task belongs in a sorted list. */
function insertionIndex(task: Task, sorted: readonly Task[], compare: (a: Task, b: Task) => number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const other = sorted[middle]
    if (other && compare(other, task) < 0) low = middle + 1
    else high = middle
  }
  return low
}

function begunRank({ id, state }: Task, planned: string | null | undefined): number {
  if (state === 'ready' || state === 'blocked') return id === planned ? 1 : 0
  return state === 'waiting' ? 2 : 3
}

/** Tasks as the API shows them, with their blockers. */
export function toTaskViews(tasks: readonly Task[], edges: readonly TaskEdge[]): TaskView[] {
  const after = Map.groupBy(edges, edge => edge.task_id)
  return tasks.map(task =>
    toTaskView(
      task,
      (after.get(task.id) ?? []).map(edge => edge.blocker_id),
    ),
  )
}

function idsOf(tasks: readonly Task[]): string[] {
  return tasks.map(({ id }) => id)
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
