import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../../base/errors.ts'
import { CreateFeature, DeleteFeature, GoOnFeature } from '../../../domain/features/feature.ts'
import type { FeatureRow } from '../../../store/features/rows.ts'
import { checked } from '../../http/errors.ts'
import type { World } from '../../world.ts'
import { real } from '../tasks/task-routes.ts'
import { featureView, namedInTasks } from './feature-view.ts'

const Name = z.object({ name: z.string().min(1) })
const InProject = z.strictObject({ project: z.string().min(1) })

/** Features: from an idea to tasks. */
export function featureRoutes(app: FastifyInstance, world: World): void {
  const { store } = world
  const { features } = world.supervisor
  const named = async (params: unknown, project: string): Promise<FeatureRow> => {
    const { name } = checked(Name, params, 'a feature route')
    const found = await store.features.named(await real(project), name)
    if (!found) throw new AppError('feature_unknown', { name, project })
    return found
  }

  app.post('/features', async (request, reply) => {
    const row = await features.create(checked(CreateFeature, request.body, 'POST /features'))
    return reply.code(201).send(await featureView(row, world))
  })

  app.get('/features', async request => {
    const project = await real(checked(InProject, request.query, 'GET /features').project)
    const rows = await store.features.list({ project })
    const known = await Promise.all(rows.map(row => featureView(row, world)))
    return { features: [...known, ...(await namedInTasks(project, rows, world))] }
  })

  app.get('/features/:name', async request => {
    const { project } = checked(InProject, request.query, 'GET /features/:name')
    const { name } = checked(Name, request.params, 'GET /features/:name')
    const at = await real(project)
    const row = await store.features.named(at, name)
    if (row) {
      // What its session has come to may be there and not taken over yet: whoever asks sees it.
      await features.look(row.id)
      return featureView((await store.features.get(row.id)) ?? row, world)
    }
    const found = (await namedInTasks(at, [], world)).find(feature => feature.name === name)
    if (!found) throw new AppError('feature_unknown', { name, project })
    return found
  })

  app.post('/features/:name/go-on', async request => {
    const { project, ...more } = checked(GoOnFeature, request.body, 'POST /features/:name/go-on')
    return featureView(await features.goOn(await named(request.params, project), more), world)
  })

  app.delete('/features/:name', async request => {
    const { project, files, tasks } = checked(DeleteFeature, request.query, 'DELETE /features/:name')
    const row = await named(request.params, project)
    await features.remove(row, { files: files !== undefined, tasks: tasks !== undefined })
    return { deleted: row.name }
  })
}
