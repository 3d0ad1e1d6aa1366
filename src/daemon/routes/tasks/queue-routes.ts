import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError, messageOf } from '../../../base/errors.ts'
import { type AddedTask, AddTask, AT_WORK, type TaskState } from '../../../domain/task.ts'
import type { Tx } from '../../../store/store.ts'
import { whenItRuns } from '../../../tasks/queue/when-it-runs.ts'
import { checked } from '../../http/errors.ts'
import type { World } from '../../world.ts'
import { isBlankTask, sessionOf, view } from '../sessions.ts'
import { tasksOf } from '../tasks-of.ts'

const Ref = z.object({ task: z.string().min(1) })

/** A session has begun it: it is not taken out of the queue, its session is stopped. */
const BEGUN: readonly TaskState[] = [...AT_WORK, 'waiting']

/** The queue of a session: what is added to it, what is in it, what is taken out. */
export function queueRoutes(app: FastifyInstance, world: World): void {
  const tasks = tasksOf(world)

  app.post('/sessions/:ref/tasks', async (request, reply) => {
    if (isBlankTask(request.body)) throw new AppError('task_empty', {})
    const { task: text, priority, after, env } = checked(AddTask, request.body, 'POST /sessions/:ref/tasks')
    const { id: session_id, project } = await sessionOf(request.params, world)
    const added = await world.store.transaction(async tx => {
      const { id } = await tasks.submit({ session_id, project, text, priority, after }, tx)
      return addedTask({ session: session_id, id }, world, tx)
    })
    const problem = added.task.state === 'ready' ? await goOn(session_id, env, world) : undefined
    return reply.code(201).send(problem ? { ...added, will: 'on_resume', problem } : added)
  })

  app.get('/sessions/:ref/tasks', async request => {
    const { id } = await sessionOf(request.params, world)
    return { queue: await tasks.queue(id), tasks: await tasks.list(id) }
  })

  app.delete('/sessions/:ref/tasks/:task', async request => {
    const { id: session } = await sessionOf(request.params, world)
    const { task: ref } = checked(Ref, request.params, 'DELETE /sessions/:ref/tasks/:task')
    const cancelled = await world.store.transaction(async tx => {
      const { id, state } = await tasks.resolve(ref, session, tx)
      if (BEGUN.includes(state)) throw new AppError('task_at_work', { id, session })
      return tasks.transition(id, { to: 'cancelled', reason: 'cancelled by a person', actor: 'human' }, tx)
    })
    return { task: (await tasks.list(session)).find(({ id }) => id === cancelled.id) }
  })
}

/** The task is queued whatever becomes of the session: what keeps that from going on is told beside it. */
async function goOn(id: string, env: AddTask['env'], { supervisor, log }: World): Promise<AddedTask['problem']> {
  try {
    await supervisor.nudge(id, env)
    return undefined
  } catch (error) {
    const known = error instanceof AppError ? error : new AppError('internal', { problem: messageOf(error) }, error)
    log.warn({ error, session: id }, 'could not go on with an added task')
    return { code: known.code, message: known.message, next: known.next }
  }
}

/** Told from how things are before the session is woken: what it does then is what was told. */
async function addedTask({ session, id }: { session: string; id: string }, world: World, tx: Tx): Promise<AddedTask> {
  const row = await world.store.sessions.get(session, tx)
  const queue = await tasksOf(world).queue(session, tx)
  const task = queue.find(one => one.id === id)
  if (!row || !task) throw new AppError('session_unknown', { ref: session })
  const { status, resumes_at } = view(row, world)
  return { task, ...whenItRuns(id, queue, { status, ended: row.state === 'ended', resumes_at }), resumes_at }
}
