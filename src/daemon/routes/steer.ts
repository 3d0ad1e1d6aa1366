import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { statusOf } from '../../domain/session-status.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Run } from '../../supervisor/run.ts'
import { stopWaiting } from '../../supervisor/stop-waiting.ts'
import { checked } from '../http/errors.ts'
import type { World } from '../world.ts'
import { sessionOf, view } from './sessions.ts'

const Prompt = z.strictObject({ text: z.string().trim().min(1).max(1_000_000) })

/** Statuses of a session that is over for good. */
const FINAL = new Set(['completed', 'stopped', 'error'])

/** Stop, pause, interrupt, and the next words to an agent that is at work. */
export function steerRoutes(app: FastifyInstance, world: World): void {
  app.post('/sessions/:ref/stop', async request => {
    const row = await sessionOf(request.params, world)
    if (world.supervisor.run(row.id)) await world.supervisor.stop(row.id, 'stopped by a person')
    else if (FINAL.has(statusOf(row, world.bootId).status) && row.state === 'ended') throw overError(row, world)
    else await stopWaiting(row, world.store, Date.now())
    return fresh(row.id, world)
  })

  app.post('/sessions/:ref/pause', async request => {
    const { row, run } = await liveSession(request.params, world)
    await run.session?.pause()
    return view(row, world)
  })

  app.post('/sessions/:ref/interrupt', async request => {
    const { row, run } = await liveSession(request.params, world)
    await run.session?.interrupt()
    return fresh(row.id, world)
  })

  app.post('/sessions/:ref/prompt', async request => {
    const { text } = checked(Prompt, request.body, 'POST /sessions/:ref/prompt')
    const { row, run } = await liveSession(request.params, world)
    await run.session?.prompt(text)
    return view(row, world)
  })
}

/** A session whose agent is in its turn; waits for one that is just starting. */
async function liveSession(params: unknown, world: World): Promise<{ row: SessionRow; run: Run }> {
  const row = await sessionOf(params, world)
  const run = world.supervisor.run(row.id)
  await run?.opened.promise
  if (!run || run.over) throw overError(row, world)
  return { row, run }
}

function overError(row: SessionRow, world: World): AppError {
  const { status } = statusOf(row, world.bootId)
  return new AppError('session_over', { id: row.id, status, project: row.project, vendor_id: row.vendor_id ?? '<id>' })
}

async function fresh(id: string, world: World) {
  const row = await world.store.sessions.get(id)
  if (!row) throw new AppError('session_unknown', { ref: id })
  return view(row, world)
}
