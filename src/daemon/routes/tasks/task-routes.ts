import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../../base/errors.ts'
import { OPEN_STATES, TaskState } from '../../../domain/task.ts'
import { taskListText } from '../../../domain/tasks/list-text.ts'
import { SubmitTask, TaskQuery, UpdateTask } from '../../../domain/tasks/requests.ts'
import type { TaskFilter } from '../../../store/tasks/shapes.ts'
import { checked } from '../../http/errors.ts'
import type { World } from '../../world.ts'
import { tasksOf } from '../tasks-of.ts'

const Ref = z.object({ ref: z.string().min(1) })
const Delete = z.strictObject({ cascade: z.enum(['true']).optional() })

/** A project's tasks: new ones, all of them, one of them, its fields, its end. */
export function taskRoutes(app: FastifyInstance, world: World): void {
  const tasks = tasksOf(world)
  const { store } = world

  app.post('/tasks', async (request, reply) => {
    if (isBlank(request.body)) throw new AppError('task_empty', {})
    const { project, description, max_retries: maxRetries, ...rest } = checked(SubmitTask, request.body, 'POST /tasks')
    const text = description ?? ''
    const where = { session_id: null, project: await real(project) }
    const view = await store.transaction(async tx => {
      const task = await tasks.submit({ ...rest, ...where, text, maxRetries, actor: 'human' }, tx)
      return tasks.view(task, tx)
    })
    return reply.code(201).send({ task: view })
  })

  app.get('/tasks', async (request, reply) => {
    const query = checked(TaskQuery, request.query, 'GET /tasks')
    const found = await tasks.listAsJson(await filterOf(query, world))
    // As bytes: of a text the server would look at every letter to tell how long it is, and again to send it.
    return reply.type('application/json').send(Buffer.from(taskListText(found)))
  })

  app.get('/tasks/:ref', async request => tasks.detail(await tasks.find(refOf(request.params))))

  app.post('/tasks/:ref', async request => {
    const changes = checked(UpdateTask, request.body ?? {}, 'POST /tasks/:ref')
    return store.transaction(async tx => {
      const task = await tasks.find(refOf(request.params), tx)
      return { task: await tasks.view(await tasks.update(task, changes, tx), tx) }
    })
  })

  app.delete('/tasks/:ref', async request => {
    const { cascade } = checked(Delete, request.query, 'DELETE /tasks/:ref')
    return store.transaction(async tx => {
      const task = await tasks.find(refOf(request.params), tx)
      const gone = await tasks.remove(task, { cascade: cascade === 'true' }, tx)
      return { deleted: gone.map(({ id, title, state }) => ({ id, title, state })) }
    })
  })
}

/** What a route's `:ref` says. */
export function refOf(params: unknown): string {
  return checked(Ref, params, 'a task route').ref
}

/** Projects are stored by their real path; one that is gone is looked up as it is spelled. */
export function real(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path))
}

async function filterOf({ state, ready, project, under, ...rest }: TaskQuery, world: World): Promise<TaskFilter> {
  const states = ready ? (['ready'] as const) : state === undefined ? undefined : statesIn(state)
  return {
    ...rest,
    states,
    project: project === undefined ? undefined : await real(project),
    under: under === undefined ? undefined : (await tasksOf(world).find(under)).id,
  }
}

function statesIn(text: string): TaskState[] {
  return text
    .split(',')
    .map(word => word.trim())
    .flatMap(word => (word === 'open' ? OPEN_STATES : [checked(TaskState, word, 'GET /tasks?state=')]))
}

/** Said in words of its own, since it is what happens to a variable that was not set. */
function isBlank(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !('title' in body)) return false
  return typeof body.title === 'string' && body.title.trim() === ''
}
