import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { TmuxSessionFolder } from '../../agents/tmux/session-folder.ts'
import { AppError } from '../../base/errors.ts'
import { ResumeSession, type SessionView, statusOf } from '../../domain/api.ts'
import type { CheckpointLine, CheckpointView } from '../../domain/checkpoint.ts'
import { isFinal } from '../../domain/session-end.ts'
import { vendorOf } from '../../domain/vendors.ts'
import type { SessionRow } from '../../store/tables.ts'
import { chosenAgent } from '../../supervisor/context.ts'
import type { LiveSession } from '../../supervisor/session/context.ts'
import { findCompleteWork } from '../../supervisor/session/resume.ts'
import { endLeftInTerminal, pauseWaitingSession, stopWaitingSession } from '../../supervisor/session/settle.ts'
import { type DaemonContext, getTasks } from '../context.ts'
import { parseRequest } from './errors.ts'
import { findSession, viewSession } from './sessions.ts'

const Prompt = z.strictObject({ text: z.string().trim().min(1).max(1_000_000) })
const RetrySession = ResumeSession.omit({ from: true })
const Hold = z.strictObject({ held: z.boolean() })

/** What people and programs order of sessions, over the socket and the API alike. */
export function sessionActions(daemon: DaemonContext) {
  return {
    async stop(row: SessionRow): Promise<SessionView> {
      if ((await daemon.supervisor.completion.of(row.id)) !== undefined) {
        await daemon.supervisor.stop(row.id, 'stopped by a person')
        return readFreshView(row.id, daemon)
      }
      if (row.state === 'ended' && isFinal(statusOf(row, daemon.bootId).status)) {
        if (!daemon.supervisor.run(row.id)) await endLeftInTerminal(row, 'stop', daemon.store)
        throw await overError(row, daemon)
      }
      const isLive = row.state !== 'ended' && daemon.supervisor.run(row.id)
      if (isLive || !(await stopWaitingSession(row, daemon.store, Date.now())))
        await daemon.supervisor.stop(row.id, 'stopped by a person')
      await settleIfWaiting(row.id, stopWaitingSession, daemon)
      daemon.supervisor.forget(row.id)
      forgetAgentProcess(row, daemon)
      return readFreshView(row.id, daemon)
    },
    /** Pausing a paused session changes nothing. */
    async pause(row: SessionRow): Promise<SessionView> {
      if (row.state === 'ended' || !daemon.supervisor.run(row.id)) await pauseEnded(row, daemon)
      else {
        await daemon.supervisor.pause(row.id)
        await settleIfWaiting(row.id, pauseWaitingSession, daemon)
      }
      return readFreshView(row.id, daemon)
    },
    async resume(row: SessionRow, options: ResumeSession): Promise<SessionView> {
      refuseAtWork(row, daemon)
      // Whoever names a login means that one; without one the session keeps its own.
      const { credentials } = vendorOf(chosenAgent(row).kind)
      const onlyHere = credentials.some(([variable]) => options.env?.[variable])
      return resume(row, { ...options, onlyHere, reason: 'resumed by a person' }, daemon)
    },
    async interrupt(row: SessionRow): Promise<SessionView> {
      const run = await liveSession(row, daemon)
      await run.agent.session?.interrupt()
      return readFreshView(row.id, daemon)
    },
    async prompt(row: SessionRow, text: string): Promise<SessionView> {
      const run = await liveSession(row, daemon)
      if (run.agent.session?.takenOver) throw new AppError('terminal_taken', { id: row.id })
      await run.agent.session?.prompt(text)
      return viewSession(row, daemon)
    },
  }
}

/** Stop, pause, resume, hold, interrupt, and prompts to an agent that is at work. */
export function sessionControlRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const actions = sessionActions(daemon)
  for (const order of ['stop', 'pause', 'interrupt'] as const)
    app.post(`/sessions/:ref/${order}`, async request => actions[order](await findSession(request.params, daemon)))

  app.post('/sessions/:ref/resume', async request => {
    const row = await findSession(request.params, daemon)
    return actions.resume(row, parseRequest(ResumeSession, request.body ?? {}, 'POST /sessions/:ref/resume'))
  })

  app.post('/sessions/:ref/retry', async request => {
    const row = await findSession(request.params, daemon)
    const options = parseRequest(RetrySession, request.body ?? {}, 'POST /sessions/:ref/retry')
    refuseAtWork(row, daemon)
    const { status } = statusOf(row, daemon.bootId)
    if (status !== 'error' && row.retries === 0) {
      const { next } = await describeRest(row, daemon)
      throw new AppError('nothing_to_retry', { id: row.id, status, next })
    }
    return resume(row, { ...options, reason: 'tried again' }, daemon)
  })

  app.post('/sessions/:ref/hold', async request => {
    const row = await findSession(request.params, daemon)
    const { held } = parseRequest(Hold, request.body, 'POST /sessions/:ref/hold')
    if (held && row.resumes_at === null && isFinal(statusOf(row, daemon.bootId).status))
      throw await overError(row, daemon)
    await daemon.store.sessions.update(row.id, { held_at: held ? (row.held_at ?? Date.now()) : null })
    await daemon.supervisor.gatesChanged()
    return readFreshView(row.id, daemon)
  })

  for (const how of ['takeover', 'handback'] as const) {
    app.post(`/sessions/:ref/${how}`, async request => {
      const row = await findSession(request.params, daemon)
      await daemon.supervisor.handOver(await liveSession(row, daemon), how)
      return readFreshView(row.id, daemon)
    })
  }

  app.post('/sessions/:ref/prompt', async request => {
    const { text } = parseRequest(Prompt, request.body, 'POST /sessions/:ref/prompt')
    return actions.prompt(await findSession(request.params, daemon), text)
  })
}

/** A session may have begun to wait for a time before the request reached it. It must not resume by itself any more. */
async function settleIfWaiting(id: string, end: typeof stopWaitingSession, daemon: DaemonContext): Promise<void> {
  const row = await daemon.store.sessions.get(id)
  if (row?.state === 'ended' && row.resumes_at !== null) await end(row, daemon.store, Date.now())
}

/** A session that waits for its limit or its next retry must not resume by itself; one that is over cannot be paused. */
async function pauseEnded(row: SessionRow, daemon: DaemonContext): Promise<void> {
  const { status } = statusOf(row, daemon.bootId)
  if (isFinal(status)) throw await overError(row, daemon)
  if (status === 'waiting_input')
    throw new AppError('session_waits_for_answer', { id: row.id, number: formatDecisionNumber(row) })
  await pauseWaitingSession(row, daemon.store, Date.now())
  forgetAgentProcess(row, daemon)
}

/** Removes the files that an agent in a terminal was started with. Closing its window removes them, a sweep does not. */
function forgetAgentProcess({ id, options }: SessionRow, { paths, supervisor }: DaemonContext): void {
  if (options.host === 'tmux' && !supervisor.run(id)) new TmuxSessionFolder(paths.run, id).remove()
}

/** With `attach`, a person counts as attached from the first moment, so that early asks are put to them. */
async function resume(
  row: SessionRow,
  { attach, ...options }: ResumeSession & { reason: string; onlyHere?: boolean },
  daemon: DaemonContext,
) {
  const leave = attach ? daemon.terminals.expect(row.id) : undefined
  try {
    return viewSession(await daemon.supervisor.resume(row, { ...options, actor: 'human' }), daemon)
  } catch (error) {
    leave?.()
    throw error
  }
}

function refuseAtWork(row: SessionRow, daemon: DaemonContext): void {
  const run = daemon.supervisor.run(row.id)
  if (run && run.row.state !== 'ended') throw new AppError('session_running', { id: row.id })
}

/** A session whose agent is at work; waits for an agent that is just starting. */
async function liveSession(row: SessionRow, daemon: DaemonContext): Promise<LiveSession> {
  const run = daemon.supervisor.run(row.id)
  if (run?.row.state === 'queued') throw new AppError('session_queued', { id: row.id })
  await run?.control.opened.promise
  if (!run || run.control.over) throw await overError(row, daemon)
  return run
}

function formatDecisionNumber({ parked }: SessionRow): string {
  return String(parked?.number ?? '<number>')
}

async function overError(row: SessionRow, daemon: DaemonContext): Promise<AppError> {
  return new AppError('session_over', { id: row.id, ...(await describeRest(row, daemon)) })
}

/** How a session stands that is not at work, and what a person can type: only what this session accepts. */
async function describeRest(row: SessionRow, daemon: DaemonContext): Promise<{ status: string; next: string }> {
  const { status } = statusOf(row, daemon.bootId)
  const over = isFinal(status) ? 'over' : 'not at work'
  const complete = await findCompleteWork(row, { store: daemon.store, tasks: getTasks(daemon) })
  if (complete) return { status: `${over}: ${complete.what}`, next: complete.next }
  if (status === 'waiting_input')
    return {
      status: 'not at work: it waits for an answer',
      next: `Answer it with: pcc respond ${formatDecisionNumber(row)}`,
    }
  return { status: `${over} (${status})`, next: `Continue it with: pcc resume ${row.id}` }
}

async function readFreshView(id: string, daemon: DaemonContext) {
  const row = await daemon.store.sessions.get(id)
  if (!row) throw new AppError('session_unknown', { ref: id })
  return viewSession(row, daemon)
}

const CheckpointId = z.object({ id: z.string().min(1) })

/** A session's checkpoints. The code that reads them is imported on use, so that a daemon that is not asked stays small. */
export function checkpointRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const dir = join(daemon.paths.data, 'checkpoints')

  app.get('/sessions/:ref/checkpoints', async request => {
    const { id } = await findSession(request.params, daemon)
    const { list } = await import('../../agents/checkpoints/read.ts')
    return { checkpoints: (await list(dir, id)).map(toCheckpointLine) }
  })

  app.get('/sessions/:ref/checkpoints/:id', async (request): Promise<CheckpointView> => {
    const session = await findSession(request.params, daemon)
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

function toCheckpointLine(entry: Entry): CheckpointLine {
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
