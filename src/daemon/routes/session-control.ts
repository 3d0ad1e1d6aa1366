import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { TmuxSessionFolder } from '../../agents/tmux/session-folder.ts'
import { AppError } from '../../base/errors.ts'
import { ResumeSession, statusOf } from '../../domain/api.ts'
import type { CheckpointLine, CheckpointView } from '../../domain/checkpoint.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { LiveSession } from '../../supervisor/session/context.ts'
import { endLeftInTerminal, pauseWaitingSession, stopWaitingSession } from '../../supervisor/session/settle.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from './errors.ts'
import { FINAL_STATUSES, findSession, viewSession } from './sessions.ts'

const Prompt = z.strictObject({ text: z.string().trim().min(1).max(1_000_000) })
const RetrySession = ResumeSession.omit({ from: true })
const Hold = z.strictObject({ held: z.boolean() })

/** Stop, pause, resume, hold, interrupt, and the next words to an agent that is at work. */
export function sessionControlRoutes(app: FastifyInstance, world: DaemonContext): void {
  app.post('/sessions/:ref/stop', async request => {
    const row = await findSession(request.params, world)
    if ((await world.supervisor.landing.of(row.id)) !== undefined) {
      await world.supervisor.stop(row.id, 'stopped by a person')
      return fresh(row.id, world)
    }
    if (row.state === 'ended' && FINAL_STATUSES.has(statusOf(row, world.bootId).status)) {
      if (!world.supervisor.run(row.id)) await endLeftInTerminal(row, 'stop', world.store)
      throw overError(row, world)
    }
    const isLive = row.state !== 'ended' && world.supervisor.run(row.id)
    if (isLive || !(await stopWaitingSession(row, world.store, Date.now())))
      await world.supervisor.stop(row.id, 'stopped by a person')
    await settledMeanwhile(row.id, stopWaitingSession, world)
    world.supervisor.forget(row.id)
    forgetAgentProcess(row, world)
    return fresh(row.id, world)
  })

  // Paused once is paused: asking again changes nothing.
  app.post('/sessions/:ref/pause', async request => {
    const row = await findSession(request.params, world)
    if (row.state === 'ended' || !world.supervisor.run(row.id)) await pauseEnded(row, world)
    else {
      await world.supervisor.pause(row.id)
      await settledMeanwhile(row.id, pauseWaitingSession, world)
    }
    return fresh(row.id, world)
  })

  app.post('/sessions/:ref/resume', async request => {
    const row = await findSession(request.params, world)
    const asked = parseRequest(ResumeSession, request.body ?? {}, 'POST /sessions/:ref/resume')
    refuseAtWork(row, world)
    return resume(row, { ...asked, reason: 'resumed by a person' }, world)
  })

  app.post('/sessions/:ref/retry', async request => {
    const row = await findSession(request.params, world)
    const asked = parseRequest(RetrySession, request.body ?? {}, 'POST /sessions/:ref/retry')
    refuseAtWork(row, world)
    const { status } = statusOf(row, world.bootId)
    if (status !== 'error' && row.retries === 0) throw new AppError('nothing_to_retry', { id: row.id, status })
    return resume(row, { ...asked, reason: 'tried again' }, world)
  })

  app.post('/sessions/:ref/hold', async request => {
    const row = await findSession(request.params, world)
    const { held } = parseRequest(Hold, request.body, 'POST /sessions/:ref/hold')
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
    const { text } = parseRequest(Prompt, request.body, 'POST /sessions/:ref/prompt')
    const { row, run } = await liveSession(request.params, world)
    if (run.session?.takenOver) throw new AppError('terminal_taken', { id: row.id })
    await run.session?.prompt(text)
    return viewSession(row, world)
  })
}

/** It was on its way to a wait before it could be told: what waits for a time does not go on by itself any more. */
async function settledMeanwhile(id: string, end: typeof stopWaitingSession, world: DaemonContext): Promise<void> {
  const row = await world.store.sessions.get(id)
  if (row?.state === 'ended' && row.resumes_at !== null) await end(row, world.store, Date.now())
}

/** One that waits for its limit or its next try is not to go on by itself; one that is over cannot be paused. */
async function pauseEnded(row: SessionRow, world: DaemonContext): Promise<void> {
  const { status } = statusOf(row, world.bootId)
  if (FINAL_STATUSES.has(status)) throw overError(row, world)
  if (status === 'waiting_input') throw new AppError('session_waits_for_answer', { id: row.id, number: numberOf(row) })
  await pauseWaitingSession(row, world.store, Date.now())
  forgetAgentProcess(row, world)
}

/** What an agent in a terminal was started with; the one who closes its window has removed it, and a sweep has not. */
function forgetAgentProcess({ id, options }: SessionRow, { places, supervisor }: DaemonContext): void {
  if (options.host === 'tmux' && !supervisor.run(id)) new TmuxSessionFolder(places.run, id).remove()
}

/** Whoever is about to watch counts as there from the first moment: what is asked then is put to them. */
async function resume(row: SessionRow, { attach, ...how }: ResumeSession & { reason: string }, world: DaemonContext) {
  const leave = attach ? world.terminals.expect(row.id) : undefined
  try {
    return viewSession(await world.supervisor.resume(row, { ...how, actor: 'human' }), world)
  } catch (error) {
    leave?.()
    throw error
  }
}

function refuseAtWork(row: SessionRow, world: DaemonContext): void {
  const run = world.supervisor.run(row.id)
  if (run && run.row.state !== 'ended') throw new AppError('session_running', { id: row.id })
}

/** A session whose agent is in its turn; waits for one that is just starting. */
async function liveSession(params: unknown, world: DaemonContext): Promise<{ row: SessionRow; run: LiveSession }> {
  const row = await findSession(params, world)
  const run = world.supervisor.run(row.id)
  if (run?.row.state === 'queued') throw new AppError('session_queued', { id: row.id })
  await run?.opened.promise
  if (!run || run.over) throw overError(row, world)
  return { row, run }
}

function numberOf({ parked }: SessionRow): string {
  return String(parked?.number ?? '<number>')
}

function overError(row: SessionRow, world: DaemonContext): AppError {
  return new AppError('session_over', { id: row.id, status: statusOf(row, world.bootId).status })
}

async function fresh(id: string, world: DaemonContext) {
  const row = await world.store.sessions.get(id)
  if (!row) throw new AppError('session_unknown', { ref: id })
  return viewSession(row, world)
}

const CheckpointId = z.object({ id: z.string().min(1) })

/** Looking at a session's checkpoints. What reads them is imported on use: a daemon that is not asked need not hold it. */
export function checkpointRoutes(app: FastifyInstance, world: DaemonContext): void {
  const dir = join(world.places.data, 'checkpoints')

  app.get('/sessions/:ref/checkpoints', async request => {
    const { id } = await findSession(request.params, world)
    const { list } = await import('../../agents/checkpoints/read.ts')
    return { checkpoints: (await list(dir, id)).map(lineOf) }
  })

  app.get('/sessions/:ref/checkpoints/:id', async (request): Promise<CheckpointView> => {
    const session = await findSession(request.params, world)
    const { id: ref } = parseRequest(CheckpointId, request.params, 'GET /sessions/:ref/checkpoints/:id')
    const [{ find }, { changedSince }, { restorationPrompt }] = await Promise.all([
      import('../../agents/checkpoints/read.ts'),
      import('../../agents/checkpoints/changed-files.ts'),
      import('../../agents/checkpoints/restoration-prompt.ts'),
    ])
    const { id, checkpoint } = await find(dir, session.id, ref)
    const changed = await changedSince(checkpoint)
    return { id, checkpoint, changed, prompt: restorationPrompt(checkpoint, { changed, mode: 'full' }) }
  })
}

type Entry = Awaited<ReturnType<typeof import('../../agents/checkpoints/read.ts').list>>[number]

function lineOf(entry: Entry): CheckpointLine {
  if (!('checkpoint' in entry)) return entry
  const { id, checkpoint } = entry
  return {
    id,
    timestamp: checkpoint.timestamp,
    reason: checkpoint.reason,
    completed: checkpoint.completed_subtasks.length,
    pending: checkpoint.pending_subtasks.length,
    files: checkpoint.modified_files.length,
    decisions: checkpoint.key_decisions.length,
    next_action: checkpoint.next_action,
  }
}
