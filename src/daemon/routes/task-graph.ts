import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { systemClock } from '../../base/clock.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { type AddedTask, AddTask, AT_WORK, type Task, type TaskState } from '../../domain/task.ts'
import { ImportTasks, NoteOnTask, SayOfTask } from '../../domain/task-requests.ts'
import type { Tx } from '../../store/store.ts'
import { importTasks, tryImport } from '../../tasks/files/import-tasks.ts'
import { eventSubject, isHeld } from '../../tasks/transition.ts'
import { predictTurn } from '../../tasks/view.ts'
import { type DaemonContext, getTasks } from '../context.ts'
import { parseRequest } from './errors.ts'
import { findSession, isBlankTask, viewSession } from './sessions.ts'
import { readRef, realOrGiven } from './tasks.ts'

const Link = z.strictObject({ after: z.string().min(1) })
const Ends = z.object({ ref: z.string().min(1), blocker: z.string().min(1) })

/** A person's changes to a task's state, dependencies between tasks, imports, and the log of a task. */
export function graphRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const tasks = getTasks(daemon)
  const { store } = daemon

  for (const [verb, to] of Object.entries(STATE_BY_VERB)) {
    app.post(`/tasks/:ref/${verb}`, async request => {
      const { reason } = parseRequest(SayOfTask, request.body ?? {}, `POST /tasks/:ref/${verb}`)
      const { view, interrupted } = await store.transaction(async tx => {
        const task = await tasks.find(readRef(request.params), tx)
        const held = (await store.tasks.list({ under: task.id }, tx)).filter(isHeld)
        const forced = await tasks.force(task, { to, reason }, tx)
        return { view: await tasks.view(forced, tx), interrupted: held }
      })
      await daemon.supervisor.runs.taken(interrupted)
      return { task: view }
    })
  }

  app.post('/tasks/:ref/deps', async request => {
    const { after } = parseRequest(Link, request.body, 'POST /tasks/:ref/deps')
    return store.transaction(async tx => {
      const task = await tasks.find(readRef(request.params), tx)
      const blocker = await tasks.find(after, tx, task.project)
      return { task: await tasks.view(await tasks.addDependency(task.id, blocker.id, tx), tx) }
    })
  })

  app.delete('/tasks/:ref/deps/:blocker', async request => {
    const ends = parseRequest(Ends, request.params, 'DELETE /tasks/:ref/deps/:blocker')
    return store.transaction(async tx => {
      const task = await tasks.find(ends.ref, tx)
      const blocker = await tasks.find(ends.blocker, tx, task.project)
      return { task: await tasks.view(await tasks.removeDependency(task.id, blocker.id, tx), tx) }
    })
  })

  app.post('/tasks/import', { bodyLimit: MAX_IMPORT_BYTES }, async request => {
    const { project, tasks: imported, ...options } = parseRequest(ImportTasks, request.body, 'POST /tasks/import')
    const { copy = false, update = false } = options
    const where = { project: await realOrGiven(project), copy, update }
    const deps = { store, clock: systemClock }
    const { added, updated, same, over, byTitle } = options.dry_run
      ? await tryImport(imported, where, deps)
      : await store.transaction(tx => importTasks(imported, where, { ...deps, tx }))
    const [tasks, changed] = [added.map(mentionTask), updated.map(mentionTask)]
    return {
      tasks,
      updated: changed,
      same: same.length,
      over: over.map(mentionTask),
      by_title: byTitle.map(mentionTask),
    }
  })

  app.get('/tasks/:ref/log', async request => {
    const task = await tasks.find(readRef(request.params))
    return { task: task.id, events: await readTaskEvents(task, daemon) }
  })

  app.post('/tasks/:ref/log', async request => {
    const { text } = parseRequest(NoteOnTask, request.body, 'POST /tasks/:ref/log')
    const task = await tasks.find(readRef(request.params))
    const body = { task_id: task.id, title: task.title, text }
    await store.append([{ actor: 'human', subject: eventSubject(task), kind: 'task.noted', body }])
    return { task: task.id, events: await readTaskEvents(task, daemon) }
  })
}

function mentionTask({ id, title, state }: Task) {
  return { id, title, state }
}

/** Room for twenty thousand tasks with a page of text each. */
const MAX_IMPORT_BYTES = 64_000_000

const STATE_BY_VERB = { done: 'done', fail: 'failed', reset: 'ready', cancel: 'cancelled' } as const

/** The events of the task itself, and those about it of the session whose queue it was in. */
async function readTaskEvents({ id, session_id }: Task, { store }: DaemonContext): Promise<StoredEvent[]> {
  const own = await store.events({ subject: id })
  const queue = session_id === null ? [] : await store.events({ subject: session_id })
  const about = queue.filter(({ kind, body }) => kind.startsWith('task.') && 'task_id' in body && body.task_id === id)
  return [...own, ...about].sort((a, b) => a.id - b.id)
}

const QueuedTask = z.object({ task: z.string().min(1) })

/** States of a task that its session has begun: it cannot be taken out of the queue, only its session can be stopped. */
const BEGUN: readonly TaskState[] = [...AT_WORK, 'waiting']

/** The queue of a session: add a task, list them, take one out. */
export function queueRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const tasks = getTasks(daemon)

  app.post('/sessions/:ref/tasks', async (request, reply) => {
    if (isBlankTask(request.body)) throw new AppError('task_empty', {})
    const { task: text, priority, after, env } = parseRequest(AddTask, request.body, 'POST /sessions/:ref/tasks')
    const { id: session_id, project, options } = await findSession(request.params, daemon)
    // The branch holds one task: verifying a second one would blame it for the merge of the first.
    if (options.place) throw new AppError('session_in_worktree', { id: session_id, project })
    const added = await daemon.store.transaction(async tx => {
      const { id } = await tasks.submit({ session_id, project, text, priority, after }, tx)
      return viewAddedTask({ session: session_id, id }, daemon, tx)
    })
    const problem = added.task.state === 'ready' ? await wakeSession(session_id, env, daemon) : undefined
    return reply.code(201).send(problem ? { ...added, will: 'on_resume', problem } : added)
  })

  app.get('/sessions/:ref/tasks', async request => {
    const { id } = await findSession(request.params, daemon)
    return { queue: await tasks.queue(id), tasks: await tasks.list({ session: id }) }
  })

  app.delete('/sessions/:ref/tasks/:task', async request => {
    const { id: session } = await findSession(request.params, daemon)
    const { task: ref } = parseRequest(QueuedTask, request.params, 'DELETE /sessions/:ref/tasks/:task')
    const cancelled = await daemon.store.transaction(async tx => {
      const { id, state } = await tasks.resolve(ref, session, tx)
      if (BEGUN.includes(state)) throw new AppError('task_at_work', { id, session })
      return tasks.transition(id, { to: 'cancelled', reason: 'cancelled by a person', actor: 'human' }, tx)
    })
    return { task: (await tasks.list({ session })).find(({ id }) => id === cancelled.id) }
  })
}

/** The task is queued in any case; if the session cannot go on with it, the reason is returned beside it. */
async function wakeSession(
  id: string,
  env: AddTask['env'],
  { supervisor, log }: DaemonContext,
): Promise<AddedTask['problem']> {
  try {
    await supervisor.nudge(id, env)
    return undefined
  } catch (error) {
    const problem = error instanceof AppError ? error : new AppError('internal', { problem: messageOf(error) }, error)
    log.warn({ error, session: id }, 'could not go on with an added task')
    return { code: problem.code, message: problem.message, next: problem.next }
  }
}

/** The reply is computed before the session is woken, so that it predicts what the session then does. */
async function viewAddedTask(
  { session, id }: { session: string; id: string },
  daemon: DaemonContext,
  tx: Tx,
): Promise<AddedTask> {
  const row = await daemon.store.sessions.get(session, tx)
  const queue = await getTasks(daemon).queue(session, tx)
  const task = queue.find(queued => queued.id === id)
  if (!row || !task) throw new AppError('session_unknown', { ref: session })
  const { status, resumes_at } = viewSession(row, daemon)
  return { task, ...predictTurn(id, queue, { status, ended: row.state === 'ended', resumes_at }), resumes_at }
}
