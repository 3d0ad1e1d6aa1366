import { AppError } from '../base/errors.ts'
import type { BudgetLimits } from '../domain/budget.ts'
import type { OverState, Task } from '../domain/task.ts'
import { MAX_TITLE } from '../domain/task-requests.ts'
import { findTask, resolveTask } from './find-task.ts'
import { endPoint, findWaitPath, hasOpenBlockers, refuseAsParent, refuseForeignBlocker, storedGraph } from './graph.ts'
import { countPart, eventSubject, partStateOf, reasonBlockedBy, type TasksTxDeps } from './transition.ts'
import { acceptanceColumn, labelsColumn, pathsColumn } from './view.ts'

/** A new task: for the queue of one session, or for any run that claims it. */
export interface NewTaskRequest {
  session_id: string | null
  project: string
  text: string
  /** By default the first line of the text. */
  title?: string | undefined
  priority?: number | undefined
  /** The tasks that it comes after: ids or beginnings of ids; for a session's tasks also titles. */
  after?: readonly string[] | undefined
  parent?: string | undefined
  feature?: string | undefined
  type?: string | undefined
  labels?: readonly string[] | undefined
  acceptance?: readonly string[] | undefined
  paths?: readonly string[] | undefined
  /** By default as the settings say. */
  max_retries?: number | undefined
  model?: string | undefined
  budget?: BudgetLimits | undefined
  /** Its id in the file from which it is imported. */
  alias?: string | undefined
  /** The id that it had elsewhere, and the state in which it ended there. */
  id?: string | undefined
  over?: OverState | undefined
  /** It may come after a cancelled task, as it did elsewhere. */
  asItWas?: boolean | undefined
  /** Whoever asks may not know of other projects: `after` and `parent` are looked for in this one only. */
  only?: boolean | undefined
  /** Who asked for it: `cli` by default. */
  actor?: string | undefined
}

/** Stores a task, its blockers and the event, in the caller's transaction. */
export async function submitTask(request: NewTaskRequest, deps: TasksTxDeps): Promise<Task> {
  const { store, clock, tx } = deps
  const { session_id, project, only, priority = 0, max_retries = null, over } = request
  const blockers = await findBlockers(request, deps)
  const parent = request.parent === undefined ? undefined : await findTask(request.parent, store, { project, only, tx })
  if (parent) {
    refuseAsParent(parent, project)
    await refuseCycle(parent, blockers, deps)
  }
  const open = blockers.filter(({ state }) => state !== 'done')
  const open_blockers = open.length + Number(hasOpenBlockers(parent))
  const description = request.text.trim()
  const title = request.title ?? titleFromText(description)
  if (title === '') throw new AppError('task_empty', {})
  const now = clock.now()
  const task = await store.tasks.insert(
    {
      session_id,
      project,
      title,
      description: description === '' ? title : description,
      state: over ?? (open_blockers > 0 ? 'blocked' : 'ready'),
      reason: over ? null : (open.map(reasonBlockedBy).find(Boolean) ?? null),
      priority,
      open_blockers,
      attempt: 0,
      max_retries,
      created_at: now,
      started_at: null,
      ended_at: over ? now : null,
      wakes_at: null,
      result: null,
      parent_id: parent?.id ?? null,
      children: 0,
      children_open: 0,
      children_failed: 0,
      children_done: 0,
      feature: request.feature ?? parent?.feature ?? null,
      type: request.type ?? 'task',
      retries: 0,
      acceptance: acceptanceColumn(request.acceptance ?? []),
      verification: null,
      lease_owner: null,
      run_id: null,
      budget: request.budget === undefined ? null : JSON.stringify(request.budget),
      model: request.model ?? null,
      labels: labelsColumn(request.labels ?? []),
      paths: pathsColumn(request.paths ?? []),
      alias: request.alias ?? null,
      ...(request.id !== undefined && { id: request.id }),
    },
    tx,
  )
  for (const blocker of blockers) await store.tasks.link({ task_id: task.id, blocker_id: blocker.id }, tx)
  const { id, state } = task
  const body = { task_id: id, title, priority, after: blockers.map(blocker => blocker.id), state }
  await tx.append([{ actor: request.actor ?? 'cli', subject: eventSubject(task), kind: 'task.submitted', body }])
  if (parent) await countPart(parent.id, { parts: 1, [partStateOf(state)]: 1 }, deps, task)
  return task
}

/** The blockers of a new task, each once. A cancelled task will never be done, so nothing new can come after it. */
async function findBlockers(request: NewTaskRequest, { store, tx }: TasksTxDeps): Promise<Task[]> {
  const { session_id: session, project, only, asItWas } = request
  const blockers = new Map<string, Task>()
  for (const ref of request.after ?? []) {
    const blocker = await (session === null
      ? findTask(ref, store, { project, only, tx })
      : resolveTask({ ref, session }, store, tx))
    refuseForeignBlocker({ id: NEW, project, session_id: session, run_id: null }, blocker)
    if (blocker.state === 'cancelled' && !asItWas)
      throw new AppError('task_cancelled', { id: blocker.id, title: blocker.title })
    blockers.set(blocker.id, blocker)
  }
  return [...blockers.values()]
}

/** A part of a task cannot come after a task that waits for its parent: it would wait for itself. */
async function refuseCycle(parent: Task, blockers: readonly Task[], deps: TasksTxDeps): Promise<void> {
  for (const { id: blocker } of blockers) {
    const cycle = await findWaitPath(endPoint(blocker), endPoint(parent.id), storedGraph(deps))
    const path = cycle && [NEW, ...cycle, NEW].join(' → ')
    if (path) throw new AppError('task_cycle', { id: NEW, blocker, path })
  }
}

const NEW = '(new)'

/** The first line of the text, cut to `MAX_TITLE` characters. */
function titleFromText(description: string): string {
  const [first = ''] = description.split('\n', 1)
  const line = [...first.trim()]
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1).join('')}…` : line.join('')
}
