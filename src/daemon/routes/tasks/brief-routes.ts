import type { FastifyInstance } from 'fastify'
import { briefFor } from '../../../supervisor/brief/brief-for.ts'
import { featureSections } from '../../../supervisor/features/feature-section.ts'
import type { World } from '../../world.ts'
import { tasksOf } from '../tasks-of.ts'
import { refOf } from './task-routes.ts'

/** What an agent would be sent for a task. Reads only. */
export function briefRoutes(app: FastifyInstance, world: World): void {
  const { store } = world
  app.get('/tasks/:ref/brief', async request => {
    const task = await tasksOf(world).find(refOf(request.params))
    const attempts = await store.runs.attempts({ task: task.id })
    const [run] = await store.runs.list({ project: task.project, open: true })
    const more = await featureSections(task)
    const look = await world.supervisor.placeOf(task)
    const place = 'why' in look ? undefined : look
    return { task: task.id, ...(await briefFor(task, { store, attempts, run: run?.id, place, more })) }
  })
}
