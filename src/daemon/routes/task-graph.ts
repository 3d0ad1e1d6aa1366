import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { systemClock } from '../../base/clock.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { type AddedTask, AddTask, isBegun, type Task, type TaskView } from '../../domain/task.ts'
import { type ImportReply, ImportTasks, MAX_IMPORT_BYTES, NoteOnTask, SayOfTask } from '../../domain/task-requests.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { importTasks, tryImport } from '../../tasks/files/import-tasks.ts'
import { eventSubject } from '../../tasks/transition.ts'
import type { ForcedState } from '../../tasks/update.ts'
import { mentionTask, predictTurn, readTaskJson } from '../../tasks/view.ts'
import { type DaemonContext, getTasks } from '../context.ts'
import { parseRequest } from './errors.ts'
import { findSession, isBlankTask, viewSession } from './sessions.ts'
import { type CheckTask, readRef, realOrGiven } from './tasks.ts'

const Link = z.strictObject({ after: z.string().min(1) })
const Ends = z.object({ ref: z.string().min(1), blocker: z.string().min(1) })

/** What people and programs order of tasks in the graph, over the socket and the API alike. */
export function graphActions(daemon: DaemonContext) {
  const tasks = getTasks(daemon)
  const { store } = daemon
  const ends = async (ref: string, other: string, { tx, check }: { tx: Tx; check?: CheckTask | undefined }) => {
    const task = await tasks.find(ref, tx)
    if (check) check(task.id, await readTaskJson(task.id, store, tx))
    return [task.id, (await tasks.find(other, tx, task.project)).id] as const
  }
  return {
    /** Sets the state of a task; whoever works on it loses it. */
    async force(ref: string, forced: ForcedState, check?: CheckTask): Promise<TaskView> {
      const { view, interrupted } = await store.transaction(async tx => {
        const task = await tasks.find(ref, tx)
        if (check) check(task.id, await readTaskJson(task.id, store, tx))
        const held = (await store.tasks.list({ under: task.id }, tx)).filter(isBegun)
        return { view: await tasks.view(await tasks.force(task, forced, tx), tx), interrupted: held }
      })
      await daemon.supervisor.runs.taken(interrupted)
      return view
    },
    link: (ref: string, after: string, check?: CheckTask): Promise<TaskView> =>
      store.transaction(async tx => {
        const [task, blocker] = await ends(ref, after, { tx, check })
        return tasks.view(await tasks.addDependency(task, blocker, tx), tx)
      }),
    unlink: (ref: string, before: string, check?: CheckTask): Promise<TaskView> =>
      store.transaction(async tx => {
        const [task, blocker] = await ends(ref, before, { tx, check })
        return tasks.view(await tasks.removeDependency(task, blocker, tx), tx)
      }),
    async import({ project, tasks: imported, ...options }: ImportTasks & { only?: boolean }): Promise<ImportReply> {
      const { copy = false, update = false, file, only } = options
      const where = { project: await realOrGiven(project), copy, update, file, only }
      const deps = { store, clock: systemClock }
      const { added, updated, same, over, byTitle } = options.dry_run
        ? await tryImport(imported, where, deps)
        : await store.transaction(tx => importTasks(imported, where, { ...deps, tx }))
      if (!options.dry_run) for (const { id } of updated) daemon.supervisor.budgetChanged(id)
      return {
        tasks: added.map(mentionTask),
        updated: updated.map(mentionTask),
        same: same.length,
        over: over.map(mentionTask),
        by_title: byTitle.map(mentionTask),
      }
    },
    async note(task: Task, text: string): Promise<void> {
      const body = { task_id: task.id, title: task.title, text }
      await store.append([{ actor: 'human', subject: eventSubject(task), kind: 'task.noted', body }])
    },
  }
}

/** A person's changes to a task's state, dependencies between tasks, imports, and the log of a task. */
export function graphRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const tasks = getTasks(daemon)
  const actions = graphActions(daemon)

  for (const [verb, to] of Object.entries(STATE_BY_VERB)) {
    app.post(`/tasks/:ref/${verb}`, async request => {
      const { reason } = parseRequest(SayOfTask, request.body ?? {}, `POST /tasks/:ref/${verb}`)
      return { task: await actions.force(readRef(request.params), { to, reason }) }
    })
  }

  app.post('/tasks/:ref/deps', async request => {
    const { after } = parseRequest(Link, request.body, 'POST /tasks/:ref/deps')
    return { task: await actions.link(readRef(request.params), after) }
  })

  app.delete('/tasks/:ref/deps/:blocker', async request => {
    const { ref, blocker } = parseRequest(Ends, request.params, 'DELETE /tasks/:ref/deps/:blocker')
    return { task: await actions.unlink(ref, blocker) }
  })

  app.post('/tasks/import', { bodyLimit: MAX_IMPORT_BYTES }, request =>
    actions.import(parseRequest(ImportTasks, request.body, 'POST /tasks/import')),
  )

  app.get('/tasks/:ref/log', async request => {
    const task = await tasks.find(readRef(request.params))
    return { task: task.id, events: await readTaskEvents(task, daemon) }
  })

  app.post('/tasks/:ref/log', async request => {
    const { text } = parseRequest(NoteOnTask, request.body, 'POST /tasks/:ref/log')
    const task = await tasks.find(readRef(request.params))
    await actions.note(task, text)
    return { task: task.id, events: await readTaskEvents(task, daemon) }
  })
}

const STATE_BY_VERB = { done: 'done', fail: 'failed', reset: 'ready', cancel: 'cancelled' } as const

/** The events of the task itself, and those about it of the sessions that worked on it. */
export async function readTaskEvents({ id, session_id }: Task, { store }: DaemonContext): Promise<StoredEvent[]> {
  const attempts = await store.runs.attempts({ task: id })
  const sessions = new Set([
    ...attempts.map(attempt => attempt.session_id),
    ...(session_id === null ? [] : [session_id]),
  ])
  const found = await store.events({ subject: id })
  for (const subject of sessions) {
    const queue = await store.events({ subject })
    found.push(
      ...queue.filter(({ kind, body }) => kind.startsWith('task.') && 'task_id' in body && body.task_id === id),
    )
  }
  const events = found.sort((a, b) => a.id - b.id)
  return numberAttempts(
    events,
    attempts.map(({ number }) => number),
  )
}

/**
 * The events of a task's attempts with the numbers that the attempts have. A daemon that takes over a task from a dead one raises the number
 * on the task, so that the dead one can report nothing; to a person the attempt goes on.
 */
function numberAttempts(events: StoredEvent[], numbers: readonly number[]): StoredEvent[] {
  const isBegin = ({ kind, body }: StoredEvent) => kind === 'task.started' && body.from === 'ready'
  // A task that a session worked on without a run, or whose old events are gone, has no such list.
  if (events.filter(isBegin).length !== numbers.length) return events
  let begun = 0
  return events.map(event => {
    if (isBegin(event)) begun += 1
    const attempt = numbers[begun - 1]
    if (attempt === undefined || !event.kind.startsWith('task.') || !('attempt' in event.body)) return event
    return { ...event, body: { ...event.body, attempt } } as StoredEvent
  })
}

const QueuedTask = z.object({ task: z.string().min(1) })

/** The queue of a session: add a task, list them, take one out. */
export function queueRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const tasks = getTasks(daemon)

  app.post('/sessions/:ref/tasks', async (request, reply) => {
    if (isBlankTask(request.body)) throw new AppError('task_empty', {})
    const wanted = parseRequest(AddTask, request.body, 'POST /sessions/:ref/tasks')
    return reply.code(201).send(await addToQueue(await findSession(request.params, daemon), wanted, daemon))
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
      // Only its session can be stopped.
      if (isBegun({ state })) throw new AppError('task_at_work', { id, session })
      return tasks.transition(id, { to: 'cancelled', reason: 'cancelled by a person', actor: 'human' }, tx)
    })
    return { task: (await tasks.list({ session })).find(({ id }) => id === cancelled.id) }
  })
}

/** Adds a task to the queue of a session and wakes the session. */
export async function addToQueue(
  { id: session_id, project, options }: SessionRow,
  { task: text, priority, after, env }: AddTask,
  daemon: DaemonContext,
): Promise<AddedTask> {
  // The branch holds one task: verifying a second one would blame it for the merge of the first.
  if (options.place) throw new AppError('session_in_worktree', { id: session_id, project })
  const added = await daemon.store.transaction(async tx => {
    const { id } = await getTasks(daemon).submit({ session_id, project, text, priority, after }, tx)
    return viewAddedTask({ session: session_id, id }, daemon, tx)
  })
  const problem = added.task.state === 'ready' ? await wakeSession(session_id, env, daemon) : undefined
  return problem ? { ...added, will: 'on_resume', problem } : added
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
