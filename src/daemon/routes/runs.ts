import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import type { JournalPage } from '../../domain/attempt.ts'
import {
  type GuidedTask,
  GuideTask,
  ResumeRun,
  type RunDetail,
  type RunPlan,
  type RunView,
  StartRun,
  StopRun,
} from '../../domain/run.ts'
import { type ScheduleView, SetSchedule } from '../../domain/schedule.ts'
import { cleanText } from '../../domain/task-requests.ts'
import type { RunRow, ScheduleRow } from '../../store/tables.ts'
import { searchJournal } from '../../tasks/journal.ts'
import { type DaemonContext, getTasks, readNeeds, rememberUntrusted } from '../context.ts'
import { parseRequest } from './errors.ts'
import { needsOfRun, runDetail, runView } from './run-view.ts'
import { findKind } from './sessions.ts'
import { readRef, realOrGiven } from './tasks.ts'

const Ref = z.object({ ref: z.string().min(1) })
const ListQuery = z.strictObject({
  project: z.string().min(1).optional(),
  open: z.literal('true').optional(),
  limit: z.coerce.number().int().min(1).optional(),
})

const DetailQuery = z.strictObject({ attempts: z.coerce.number().int().min(0).optional() })

/** What people and programs order of runs, over the socket and the API alike. */
export function runActions(daemon: DaemonContext) {
  const { runs } = daemon.supervisor
  return {
    /** Starts a run, or lets the same one go on that waits for its account. */
    async start(start: StartRun): Promise<RunDetail> {
      const mended = await runs.resumeWithEnv(start)
      await daemon.supervisor.tryMended()
      if (mended) return { ...(await readFreshDetail(mended.id, daemon)), mended: true }
      return runDetail(await runs.start(start), daemon)
    },
    async stop(run: RunRow, now: boolean): Promise<RunDetail> {
      await runs.stop(refuseOver(run).id, now ? 'now' : 'after current')
      return readFreshDetail(run.id, daemon)
    },
    async pause(run: RunRow): Promise<RunDetail> {
      await runs.pause(refuseOver(run).id)
      return readFreshDetail(run.id, daemon)
    },
    async resume(run: RunRow, env?: Record<string, string>): Promise<RunDetail> {
      const not_resumed = await runs.resume(refuseOver(run).id, env)
      await daemon.supervisor.tryMended()
      return { ...(await readFreshDetail(run.id, daemon)), ...(not_resumed.length > 0 && { not_resumed }) }
    },
  }
}

/** Runs: start, list, pause, resume and stop them. */
export function runRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  guidanceRoutes(app, daemon)
  scheduleRoutes(app, daemon)
  const { store } = daemon
  const { runs } = daemon.supervisor
  const actions = runActions(daemon)
  const untrusted = rememberUntrusted(daemon.paths)

  app.post('/runs', async (request, reply) => {
    const started = await actions.start(parseRequest(StartRun, request.body, 'POST /runs'))
    return reply.code(started.mended ? 200 : 201).send(started)
  })

  app.post(
    '/runs/plan',
    (request): Promise<RunPlan> => runs.plan(parseRequest(StartRun, request.body, 'POST /runs/plan')),
  )

  app.get('/runs', async request => {
    const { project, open, limit } = parseRequest(ListQuery, request.query, 'GET /runs')
    const inProject = project === undefined ? {} : { project: await realOrGiven(project) }
    const filter = { ...inProject, open: open === 'true' }
    const [rows, total] = [await store.runs.list({ ...filter, limit }), await store.runs.count(filter)]
    const views: RunView[] = []
    // One after the other: thousands at once would keep everything else waiting.
    for (const row of rows) views.push(await runView(row, daemon))
    return { runs: views, total }
  })

  app.get('/runs/:ref', async request => {
    const { attempts } = parseRequest(DetailQuery, request.query, 'GET /runs/:ref')
    const run = await findRun(request.params, daemon)
    const needs = (filter: { project: string }) => readNeeds(daemon, filter, untrusted)
    return { ...(await runDetail(run, daemon, attempts)), needs: await needsOfRun(run, { store, needs }) }
  })

  app.post('/runs/:ref/stop', async request => {
    const { now } = parseRequest(StopRun, request.body ?? {}, 'POST /runs/:ref/stop')
    return actions.stop(await findRun(request.params, daemon), now === true)
  })

  app.post('/runs/:ref/pause', async request => actions.pause(await findRun(request.params, daemon)))

  app.post('/runs/:ref/resume', async request => {
    const { env } = parseRequest(ResumeRun, request.body ?? {}, 'POST /runs/:ref/resume')
    return actions.resume(await findRun(request.params, daemon), env)
  })
}

/** Finds the run that a route's `:ref` names. */
export async function findRun(params: unknown, daemon: DaemonContext): Promise<RunRow> {
  const { ref } = parseRequest(Ref, params, 'a run route')
  await findKind(ref, daemon) // refuses what could also be a session or a task
  return daemon.store.runs.resolve(ref)
}

function refuseOver(run: RunRow): RunRow {
  if (run.state === 'ended')
    throw new AppError('run_over', { id: run.id, outcome: run.outcome ?? 'ended', project: run.project })
  return run
}

async function readFreshDetail(id: string, daemon: DaemonContext): Promise<RunDetail> {
  const row = await daemon.store.runs.get(id)
  if (!row) throw new AppError('run_unknown', { ref: id })
  return runDetail(row, daemon)
}

/** A person's guidance on a task: it is added to the description, and an agent that is at work on the task gets it at once. */
function guidanceRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.post('/tasks/:ref/guidance', async (request): Promise<GuidedTask> => {
    const { text } = parseRequest(GuideTask, request.body, 'POST /tasks/:ref/guidance')
    return guideTask(readRef(request.params), text, daemon)
  })
}

/** Adds guidance to a task; an agent at work gets it at once. */
export async function guideTask(ref: string, given: string, daemon: DaemonContext): Promise<GuidedTask> {
  const tasks = getTasks(daemon)
  const text = cleanText(given)
  const { id, title, session_id } = await daemon.store.transaction(async tx => {
    const found = await tasks.find(ref, tx)
    return tasks.update(found, { description: addGuidance(found.description, text) }, tx)
  })
  return { id, title, told: session_id !== null && (await promptWithGuidance(session_id, text, daemon)) }
}

/** All guidance goes into one section of the description. */
function addGuidance(description: string, text: string): string {
  const heading = '**User Guidance**'
  return `${description.trimEnd()}\n\n${description.includes(heading) ? '' : `${heading}\n\n`}${text}`
}

/** Whether the agent got the guidance. An agent that is not at work reads it when the task is started anew. */
async function promptWithGuidance(session: string, text: string, daemon: DaemonContext): Promise<boolean> {
  const run = daemon.supervisor.run(session)
  if (!run || run.control.over || run.row.state === 'queued' || run.row.state === 'ended') return false
  await run.control.opened.promise
  // A person who has taken over the terminal tells the agent themselves; the description keeps it for later.
  if (run.control.over || !run.agent.session || run.agent.session.takenOver) return false
  try {
    await run.agent.session.prompt(`Guidance from the person you work for, on the task at hand:\n\n${text}`)
    return true
  } catch (error) {
    daemon.log.warn({ session, error }, 'guidance was not heard')
    return false
  }
}

const ScheduleQuery = z.strictObject({ project: z.string().min(1).optional(), all: z.literal('true').optional() })

/** Scheduled runs: add, list and cancel them. */
function scheduleRoutes(app: FastifyInstance, { store, supervisor }: DaemonContext): void {
  app.post('/schedules', async (request, reply) => {
    const row = await supervisor.calendar.set(parseRequest(SetSchedule, request.body, 'POST /schedules'))
    return reply.code(201).send(toScheduleView(row))
  })

  app.get('/schedules', async (request): Promise<{ schedules: ScheduleView[] }> => {
    const { project, all } = parseRequest(ScheduleQuery, request.query, 'GET /schedules')
    const filter = project === undefined ? {} : { project: await realOrGiven(project) }
    return { schedules: (await store.schedules.list({ ...filter, waiting: all === undefined })).map(toScheduleView) }
  })

  app.post('/schedules/:ref/cancel', async request => {
    const { ref } = parseRequest(Ref, request.params, 'POST /schedules/:ref/cancel')
    const matches = (await store.schedules.list()).filter(({ id }) => id.startsWith(ref) || id.startsWith(`c-${ref}`))
    const [only, ...others] = matches
    if (!only) throw new AppError('schedule_unknown', { ref })
    if (others.length > 0)
      throw new AppError('schedule_ambiguous', { ref, matches: matches.map(({ id }) => id).join(', ') })
    return toScheduleView(await supervisor.calendar.cancel(only.id))
  })
}

function toScheduleView({ options: _, pattern: __, ...view }: ScheduleRow): ScheduleView {
  return view
}

const JournalQuery = z.strictObject({
  project: z.string().min(1).optional(),
  /** Id of a run, or a unique beginning of it. */
  run: z.string().min(1).optional(),
  task: z.string().min(1).optional(),
  words: z.string().max(1_000).optional(),
  /** Milliseconds since the epoch. */
  since: z.coerce.number().int().min(0).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(20),
})

/** The journal: what became of every attempt. Reads only. */
export function journalRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/journal', async (request): Promise<JournalPage> => {
    const { project, run, task, ...rest } = parseRequest(JournalQuery, request.query, 'GET /journal')
    return searchJournal(daemon.store, {
      ...rest,
      project: project === undefined ? undefined : await realOrGiven(project),
      run: run === undefined ? undefined : (await daemon.store.runs.resolve(run)).id,
      task: task === undefined ? undefined : await findTaskId(task, daemon),
    })
  })
}

/** A deleted task still has its entries in the journal; its whole id must be given. */
async function findTaskId(ref: string, daemon: DaemonContext): Promise<string> {
  try {
    return (await getTasks(daemon).find(ref)).id
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'task_not_there')) throw error
    if ((await daemon.store.journal.count({ task: ref })) === 0) throw error
    return ref
  }
}
