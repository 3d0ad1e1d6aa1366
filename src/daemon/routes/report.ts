import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import type { Report } from '../../domain/report/report.ts'
import { isZone } from '../../domain/schedules/schedule.ts'
import { gatherReport } from '../../supervisor/report/gather.ts'
import { sinceOf } from '../../tasks/schedules/since.ts'
import { checked } from '../http/errors.ts'
import type { World } from '../world.ts'
import { real } from './tasks/task-routes.ts'
import { tasksOf } from './tasks-of.ts'

const ReportQuery = z.strictObject({
  since: z.string().trim().min(1).max(100),
  until: z.string().trim().min(1).max(100).optional(),
  project: z.string().min(1).optional(),
  /** The zone of the person's clock. */
  zone: z.string().refine(isZone, 'it is no time zone of this machine'),
})

/** What happened while nobody looked. */
export function reportRoutes(app: FastifyInstance, world: World): void {
  app.get('/report', async (request): Promise<Report> => {
    const { since, until, project, zone } = checked(ReportQuery, request.query, 'GET /report')
    const now = Date.now()
    const to = until === undefined ? now : sinceOf(until, zone, now)
    const span = { since: sinceOf(since, zone, to), until: to }
    const of = project === undefined ? {} : { project: await real(project) }
    return gatherReport({ ...span, ...of }, { store: world.store, tasks: tasksOf(world), quota: world.quota })
  })
}
