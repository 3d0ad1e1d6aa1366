import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../../base/errors.ts'
import { type ScheduleView, SetSchedule } from '../../../domain/schedules/schedule.ts'
import type { ScheduleRow } from '../../../store/schedules/rows.ts'
import { checked } from '../../http/errors.ts'
import type { World } from '../../world.ts'
import { real } from '../tasks/task-routes.ts'

const Ref = z.object({ ref: z.string().min(1) })
const ListQuery = z.strictObject({ project: z.string().min(1).optional(), all: z.literal('true').optional() })

/** Runs to come: set one, look at them, take one back. */
export function scheduleRoutes(app: FastifyInstance, { store, supervisor }: World): void {
  app.post('/schedules', async (request, reply) => {
    const row = await supervisor.calendar.set(checked(SetSchedule, request.body, 'POST /schedules'))
    return reply.code(201).send(view(row))
  })

  app.get('/schedules', async (request): Promise<{ schedules: ScheduleView[] }> => {
    const { project, all } = checked(ListQuery, request.query, 'GET /schedules')
    const of = project === undefined ? {} : { project: await real(project) }
    return { schedules: (await store.schedules.list({ ...of, waiting: all === undefined })).map(view) }
  })

  app.post('/schedules/:ref/cancel', async request => {
    const { ref } = checked(Ref, request.params, 'POST /schedules/:ref/cancel')
    const fits = (await store.schedules.list()).filter(({ id }) => id.startsWith(ref) || id.startsWith(`c-${ref}`))
    const [only, ...others] = fits
    if (!only) throw new AppError('schedule_unknown', { ref })
    if (others.length > 0) throw new AppError('run_ambiguous', { ref, matches: fits.map(({ id }) => id).join(', ') })
    return view(await supervisor.calendar.cancel(only.id))
  })
}

function view({ options: _, pattern: __, ...shown }: ScheduleRow): ScheduleView {
  return shown
}
