import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../../base/errors.ts'
import type { Task } from '../../../domain/task.ts'
import type { TaskWork } from '../../../domain/workspace/landing/work-view.ts'
import { taskDiff } from '../../../workspace/diff/task-diff.ts'
import { checked } from '../../http/errors.ts'
import type { World } from '../../world.ts'
import { refOf } from '../tasks/task-routes.ts'
import { tasksOf } from '../tasks-of.ts'

const DiffQuery = z.strictObject({ stat: z.enum(['true']).optional() })

/** What was done for a task: what it changed, what gates saw of it, how far it is on its way. Reads only. */
export function workRoutes(app: FastifyInstance, world: World): void {
  const { store } = world

  app.get('/tasks/:ref/diff', async request => {
    const { stat } = checked(DiffQuery, request.query, 'GET /tasks/:ref/diff')
    const task = await tasksOf(world).find(refOf(request.params))
    const [worktree] = await store.worktrees.list({ task: task.id })
    const merged = (await store.merges.list({ task: task.id, states: ['merged', 'proposed'] })).at(-1)
    const found = await taskDiff({ task, worktree, merged }, { stat: stat === 'true' })
    if (!found) throw new AppError('diff_none', { task: task.id, why: worktree ? 'what it left is gone' : NO_PLACE })
    return found
  })

  app.get('/tasks/:ref/work', async request => workOf(await tasksOf(world).find(refOf(request.params)), world))
}

const NO_PLACE = 'it had no worktree of its own'

async function workOf({ id, title, state, attempt, session_id }: Task, { store }: World): Promise<TaskWork> {
  const evidence = (await store.evidence.latest(id)).map(({ task_id: _, ...row }) => row)
  const [worktree = null] = await store.worktrees.list({ task: id })
  const merge = (await store.merges.list({ task: id, limit: 1 })).at(-1) ?? null
  const open = session_id === null ? [] : await store.escalations.list({ session: session_id, states: ['open'] })
  const review = open.find(({ kind, input }) => kind === 'review' && input['task'] === id)
  return { task: id, title, state, attempt, evidence, merge, worktree, review: review?.number ?? null }
}
