import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../../base/errors.ts'
import { StartRun } from '../../../domain/runs/run.ts'
import { type RunDetail, type RunPlan, StopRun } from '../../../domain/runs/run-view.ts'
import type { RunRow } from '../../../store/runs/rows.ts'
import { checked } from '../../http/errors.ts'
import type { World } from '../../world.ts'
import { real } from '../tasks/task-routes.ts'
import { guidanceRoutes } from './guidance-routes.ts'
import { runDetail, runView } from './run-view.ts'
import { scheduleRoutes } from './schedule-routes.ts'

const Ref = z.object({ ref: z.string().min(1) })
const ListQuery = z.strictObject({
  project: z.string().min(1).optional(),
  limit: z.coerce.number().int().min(1).optional(),
})

const DetailQuery = z.strictObject({ attempts: z.coerce.number().int().min(0).optional() })

/** Runs: start one, look at them, hold them up, end them. */
export function runRoutes(app: FastifyInstance, world: World): void {
  guidanceRoutes(app, world)
  scheduleRoutes(app, world)
  const { store } = world
  const { runs } = world.supervisor

  app.post('/runs', async (request, reply) => {
    const row = await runs.start(checked(StartRun, request.body, 'POST /runs'))
    return reply.code(201).send(await runDetail(row, world))
  })

  app.post('/runs/plan', (request): Promise<RunPlan> => runs.plan(checked(StartRun, request.body, 'POST /runs/plan')))

  app.get('/runs', async request => {
    const { project, limit } = checked(ListQuery, request.query, 'GET /runs')
    const rows = await store.runs.list(project === undefined ? {} : { project: await real(project) })
    return { runs: await Promise.all(rows.slice(0, limit).map(row => runView(row, world))), total: rows.length }
  })

  app.get('/runs/:ref', async request => {
    const { attempts } = checked(DetailQuery, request.query, 'GET /runs/:ref')
    return runDetail(await runOf(request.params, world), world, attempts)
  })

  app.post('/runs/:ref/stop', async request => {
    const { now } = checked(StopRun, request.body ?? {}, 'POST /runs/:ref/stop')
    const run = await openRun(request.params, world)
    await runs.stop(run.id, now ? 'now' : 'after current')
    return fresh(run.id, world)
  })

  app.post('/runs/:ref/pause', async request => {
    const run = await openRun(request.params, world)
    await runs.pause(run.id)
    return fresh(run.id, world)
  })

  app.post('/runs/:ref/resume', async request => {
    const run = await openRun(request.params, world)
    await runs.resume(run.id)
    return fresh(run.id, world)
  })
}

function runOf(params: unknown, { store }: World): Promise<RunRow> {
  return store.runs.resolve(checked(Ref, params, 'a run route').ref)
}

async function openRun(params: unknown, world: World): Promise<RunRow> {
  const run = await runOf(params, world)
  if (run.state === 'ended') throw new AppError('run_over', { id: run.id, outcome: run.outcome ?? 'ended' })
  return run
}

async function fresh(id: string, world: World): Promise<RunDetail> {
  const row = await world.store.runs.get(id)
  if (!row) throw new AppError('run_unknown', { ref: id })
  return runDetail(row, world)
}
