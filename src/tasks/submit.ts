import { AppError } from '../base/errors.ts'
import type { Task } from '../domain/task.ts'
import type { TxParts } from './parts.ts'
import { resolveTask } from './resolve-task.ts'
import { inTheWay } from './transition.ts'

/** A task that is to be queued. */
export interface NewTaskRequest {
  session_id: string
  project: string
  text: string
  priority?: number | undefined
  /** What it comes after: ids, or beginnings of ids or titles, of tasks of the same session. */
  after?: readonly string[] | undefined
  maxRetries?: number | undefined
  /** Who asked for it: `cli` where nothing is said. */
  actor?: string | undefined
}

/** One that may pass by itself is tried again so often before a person hears of it. */
const MAX_RETRIES = 3

/** Stores a task, what it comes after and the event, in the caller's transaction. */
export async function submit(request: NewTaskRequest, parts: TxParts): Promise<Task> {
  const { store, clock, tx } = parts
  const { session_id, project, text, priority = 0, maxRetries = MAX_RETRIES } = request
  const blockers = await blockersNamed(request, parts)
  const open = blockers.filter(({ state }) => state !== 'done')
  const dead = open.find(({ state }) => state === 'failed')
  const description = text.trim()
  if (description === '') throw new AppError('task_empty', {})
  const task = await store.tasks.insert(
    {
      session_id,
      project,
      title: titleOf(description),
      description,
      state: open.length > 0 ? 'blocked' : 'ready',
      reason: dead ? inTheWay(dead) : null,
      priority,
      open_blockers: open.length,
      attempt: 0,
      max_retries: maxRetries,
      created_at: clock.now(),
      started_at: null,
      ended_at: null,
      wakes_at: null,
      result: null,
    },
    tx,
  )
  for (const blocker of blockers) await store.tasks.link({ task_id: task.id, blocker_id: blocker.id }, tx)
  const { id, title, state } = task
  const body = { task_id: id, title, priority, after: blockers.map(blocker => blocker.id), state }
  await tx.append([{ actor: request.actor ?? 'cli', subject: session_id, kind: 'task.submitted', body }])
  return task
}

/** Each once. One that was cancelled will never be done, so nothing can come after it. */
async function blockersNamed(request: NewTaskRequest, { store, tx }: TxParts): Promise<Task[]> {
  const found = new Map<string, Task>()
  for (const ref of request.after ?? []) {
    const blocker = await resolveTask({ ref, session: request.session_id }, store, tx)
    if (blocker.state === 'cancelled') throw new AppError('task_cancelled', { id: blocker.id, title: blocker.title })
    found.set(blocker.id, blocker)
  }
  return [...found.values()]
}

const MAX_TITLE = 200

/** The first line that says something. */
function titleOf(description: string): string {
  const [first = ''] = description.split('\n', 1)
  const line = [...first.trim()]
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1).join('')}…` : line.join('')
}
