import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { SeatFolder } from '../../agents/tmux/seat.ts'
import { AppError } from '../../base/errors.ts'
import { ResumeSession } from '../../domain/api.ts'
import { statusOf } from '../../domain/session-status.ts'
import type { SessionRow } from '../../store/tables.ts'
import { endLeft } from '../../supervisor/hosted/end-left.ts'
import type { Run } from '../../supervisor/run.ts'
import { pauseWaiting, stopWaiting } from '../../supervisor/settling/stop-waiting.ts'
import { checked } from '../http/errors.ts'
import type { World } from '../world.ts'
import { FINAL_STATUSES, sessionOf, view } from './sessions.ts'

const Prompt = z.strictObject({ text: z.string().trim().min(1).max(1_000_000) })
const RetrySession = ResumeSession.omit({ from: true })
const Hold = z.strictObject({ held: z.boolean() })

/** Stop, pause, resume, hold, interrupt, and the next words to an agent that is at work. */
export function steerRoutes(app: FastifyInstance, world: World): void {
  app.post('/sessions/:ref/stop', async request => {
    const row = await sessionOf(request.params, world)
    if ((await world.supervisor.landing.of(row.id)) !== undefined) {
      await world.supervisor.stop(row.id, 'stopped by a person')
      return fresh(row.id, world)
    }
    if (row.state === 'ended' && FINAL_STATUSES.has(statusOf(row, world.bootId).status)) {
      if (!world.supervisor.run(row.id)) await endLeft(row, 'stop', world.store)
      throw overError(row, world)
    }
    const isLive = row.state !== 'ended' && world.supervisor.run(row.id)
    if (isLive || !(await stopWaiting(row, world.store, Date.now())))
      await world.supervisor.stop(row.id, 'stopped by a person')
    await settledMeanwhile(row.id, stopWaiting, world)
    world.supervisor.forget(row.id)
    forgetSeat(row, world)
    return fresh(row.id, world)
  })

  // Paused once is paused: asking again changes nothing.
  app.post('/sessions/:ref/pause', async request => {
    const row = await sessionOf(request.params, world)
    if (row.state === 'ended' || !world.supervisor.run(row.id)) await pauseEnded(row, world)
    else {
      await world.supervisor.pause(row.id)
      await settledMeanwhile(row.id, pauseWaiting, world)
    }
    return fresh(row.id, world)
  })

  app.post('/sessions/:ref/resume', async request => {
    const row = await sessionOf(request.params, world)
    const asked = checked(ResumeSession, request.body ?? {}, 'POST /sessions/:ref/resume')
    refuseAtWork(row, world)
    return resume(row, { ...asked, reason: 'resumed by a person' }, world)
  })

  app.post('/sessions/:ref/retry', async request => {
    const row = await sessionOf(request.params, world)
    const asked = checked(RetrySession, request.body ?? {}, 'POST /sessions/:ref/retry')
    refuseAtWork(row, world)
    const { status } = statusOf(row, world.bootId)
    if (status !== 'error' && row.retries === 0) throw new AppError('nothing_to_retry', { id: row.id, status })
    return resume(row, { ...asked, reason: 'tried again' }, world)
  })

  app.post('/sessions/:ref/hold', async request => {
    const row = await sessionOf(request.params, world)
    const { held } = checked(Hold, request.body, 'POST /sessions/:ref/hold')
    if (held && row.resumes_at === null && FINAL_STATUSES.has(statusOf(row, world.bootId).status))
      throw overError(row, world)
    await world.store.sessions.update(row.id, { held_at: held ? (row.held_at ?? Date.now()) : null })
    await world.supervisor.gatesChanged()
    return fresh(row.id, world)
  })

  app.post('/sessions/:ref/interrupt', async request => {
    const { row, run } = await liveSession(request.params, world)
    await run.session?.interrupt()
    return fresh(row.id, world)
  })

  for (const how of ['takeover', 'handback'] as const) {
    app.post(`/sessions/:ref/${how}`, async request => {
      const { row, run } = await liveSession(request.params, world)
      await world.supervisor.handOver(run, how)
      return fresh(row.id, world)
    })
  }

  app.post('/sessions/:ref/prompt', async request => {
    const { text } = checked(Prompt, request.body, 'POST /sessions/:ref/prompt')
    const { row, run } = await liveSession(request.params, world)
    if (run.session?.takenOver) throw new AppError('terminal_taken', { id: row.id })
    await run.session?.prompt(text)
    return view(row, world)
  })
}

/** It was on its way to a wait before it could be told: what waits for a time does not go on by itself any more. */
async function settledMeanwhile(id: string, end: typeof stopWaiting, world: World): Promise<void> {
  const row = await world.store.sessions.get(id)
  if (row?.state === 'ended' && row.resumes_at !== null) await end(row, world.store, Date.now())
}

/** One that waits for its limit or its next try is not to go on by itself; one that is over cannot be paused. */
async function pauseEnded(row: SessionRow, world: World): Promise<void> {
  const { status } = statusOf(row, world.bootId)
  if (FINAL_STATUSES.has(status)) throw overError(row, world)
  if (status === 'waiting_input') throw new AppError('session_waits_for_answer', { id: row.id, number: numberOf(row) })
  await pauseWaiting(row, world.store, Date.now())
  forgetSeat(row, world)
}

/** What an agent in a terminal was started with; the one who closes its window has removed it, and a sweep has not. */
function forgetSeat({ id, options }: SessionRow, { places, supervisor }: World): void {
  if (options.host === 'tmux' && !supervisor.run(id)) new SeatFolder(places.run, id).remove()
}

/** Whoever is about to watch counts as there from the first moment: what is asked then is put to them. */
async function resume(row: SessionRow, { attach, ...how }: ResumeSession & { reason: string }, world: World) {
  const leave = attach ? world.terminals.expect(row.id) : undefined
  try {
    return view(await world.supervisor.resume(row, { ...how, actor: 'human' }), world)
  } catch (error) {
    leave?.()
    throw error
  }
}

function refuseAtWork(row: SessionRow, world: World): void {
  const run = world.supervisor.run(row.id)
  if (run && run.row.state !== 'ended') throw new AppError('session_running', { id: row.id })
}

/** A session whose agent is in its turn; waits for one that is just starting. */
async function liveSession(params: unknown, world: World): Promise<{ row: SessionRow; run: Run }> {
  const row = await sessionOf(params, world)
  const run = world.supervisor.run(row.id)
  if (run?.row.state === 'queued') throw new AppError('session_queued', { id: row.id })
  await run?.opened.promise
  if (!run || run.over) throw overError(row, world)
  return { row, run }
}

function numberOf({ parked }: SessionRow): string {
  return String(parked?.number ?? '<number>')
}

function overError(row: SessionRow, world: World): AppError {
  return new AppError('session_over', { id: row.id, status: statusOf(row, world.bootId).status })
}

async function fresh(id: string, world: World) {
  const row = await world.store.sessions.get(id)
  if (!row) throw new AppError('session_unknown', { ref: id })
  return view(row, world)
}
