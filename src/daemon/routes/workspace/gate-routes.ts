import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import type { TaskGates } from '../../../domain/workspace/task-gates.ts'
import { checked } from '../../http/errors.ts'
import type { World } from '../../world.ts'
import { tasksOf } from '../tasks-of.ts'

const Ref = z.object({ ref: z.string().min(1) })

/** What gates saw of a task, and where it works. */
export function gateRoutes(app: FastifyInstance, world: World): void {
  app.get('/tasks/:ref/gates', async (request): Promise<TaskGates> => {
    const { ref } = checked(Ref, request.params, 'GET /tasks/:ref/gates')
    const { id, title, project } = await tasksOf(world).find(ref)
    const places = await world.store.worktrees.list({ task: id, states: ['live'] })
    const directory = places.at(-1)?.directory ?? project
    return { id, title, project, directory, evidence: await world.store.evidence.latest(id) }
  })
}
