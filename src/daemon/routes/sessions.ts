import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import type { HandOver } from '../../domain/agent-choice.ts'
import { type OpenAsk, SessionStatus, type SessionView, StartSession, statusOf } from '../../domain/api.ts'
import { EVENT_BODIES, type EventKind } from '../../domain/event.ts'
import { EVERY_ACCOUNT } from '../../domain/limit.ts'
import { isFinal } from '../../domain/session-end.ts'
import type { Task } from '../../domain/task.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { SessionFilter } from '../../store/store.ts'
import type { Parked, SessionRow } from '../../store/tables.ts'
import { findWaitFor } from '../../tasks/graph.ts'
import { type DaemonContext, getTasks, type ProjectFilter, readNeeds, rememberUntrusted } from '../context.ts'
import { parseRequest } from './errors.ts'
import { listObserved } from './hooks.ts'
import { realOrGiven } from './tasks.ts'

const Ref = z.object({ ref: z.string().min(1) })

const ListQuery = z.strictObject({
  status: z.string().optional(),
  project: z.string().min(1).optional(),
  open: z.literal('true').optional(),
  since: z.coerce.number().int().min(0).optional(),
  limit: z.coerce.number().int().min(1).optional(),
})

const EventsQuery = z.strictObject({
  after: z.coerce.number().int().min(0).optional(),
  tail: z.coerce.number().int().min(1).max(100_000).optional(),
  kinds: z.string().optional(),
})

/** Starting sessions and reading them. */
export function sessionRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  const untrusted = rememberUntrusted(daemon.paths)
  app.post('/sessions', async (request, reply) => {
    if (isBlankTask(request.body)) throw new AppError('task_empty', {})
    const start = parseRequest(StartSession, request.body, 'POST /sessions')
    const row = await daemon.supervisor.start(start)
    return reply.code(201).send(viewSession(row, daemon))
  })

  app.get('/sessions', async request => {
    const query = parseRequest(ListQuery, request.query, 'GET /sessions')
    const wanted = query.status === undefined ? undefined : parseStatuses(query.status)
    const filter: ProjectFilter = {
      project: query.project === undefined ? undefined : await realOrGiven(query.project),
    }
    const { open, since, limit } = query
    const rows = { ...filter, ...(open && { only: 'open' as const, since }), ...(!wanted && { limit }) }
    const views = (await listSessionViews(rows, daemon)).filter(({ status }) => wanted?.has(status) ?? true)
    const total = wanted ? views.length : await daemon.store.sessions.count(filter)
    const decisions = (await readNeeds(daemon, filter, untrusted)).needs.length
    const sessions = await addTitles(views.slice(0, limit), daemon)
    return { sessions, total, observed: await listObserved(daemon, filter.project), decisions }
  })

  app.get('/sessions/:ref', async request => readSession(await findSession(request.params, daemon), daemon))

  app.get('/sessions/:ref/events', async request => {
    const { id } = await findSession(request.params, daemon)
    const query = parseRequest(EventsQuery, request.query, 'GET /sessions/:ref/events')
    const kinds = query.kinds === undefined ? undefined : parseKinds(query.kinds)
    return { events: await daemon.store.events({ subject: id, after: query.after, tail: query.tail, kinds }) }
  })
}

/** Sessions, newest first. */
export async function listSessionViews(filter: SessionFilter, daemon: DaemonContext): Promise<SessionView[]> {
  const held = await readHeldAccounts(daemon)
  return (await daemon.store.sessions.list(filter)).map(row => viewSession(row, daemon, held))
}

/** A session with its queue and the title of its task. */
export async function readSession(row: SessionRow, daemon: DaemonContext): Promise<SessionView> {
  const queue = await getTasks(daemon).queue(row.id)
  const view = { ...viewSession(row, daemon, await readHeldAccounts(daemon)), queue }
  return (await addTitles([view], daemon))[0] ?? view
}

/** Finds the session that a route's `:ref` names: by its own id or name, or by the id of its task. */
export async function findSession(params: unknown, daemon: DaemonContext): Promise<SessionRow> {
  const { ref } = parseRequest(Ref, params, 'a session route')
  const kind = await findKind(ref, daemon)
  if (kind === 'task') return findSessionOfTask(ref, daemon)
  if (kind === 'run' || RUN_ID.test(ref)) {
    const { id } = await daemon.store.runs.resolve(ref)
    throw new AppError('run_not_session', { id })
  }
  try {
    return await daemon.store.sessions.resolve(ref)
  } catch (error) {
    const isUnknown = error instanceof AppError && error.code === 'session_unknown'
    if (!isUnknown) throw error
    // The id of a task in the file that it was imported from names it, too.
    if (!TASK_ID.test(ref) && (await daemon.store.tasks.named(ref)).length === 0) throw error
    return findSessionOfTask(ref, daemon)
  }
}

const TASK_ID = /^t-[0-9a-f]{1,6}$/i
const RUN_ID = /^r-[0-9a-f]{1,6}$/i
/** An id without the letter that says what it is the id of, or its beginning. */
const BARE_ID = /^[0-9a-f]{1,6}$/i

/**
 * What a bare id is the id of: people type `5f4` for `s-5f4abc`, `t-5f4abc` and `r-5f4abc` alike. Throws `session_ambiguous` if it could
 * be several; undefined for any other reference, and for a name of a session, which wins.
 */
export async function findKind(ref: string, daemon: DaemonContext): Promise<'session' | 'task' | 'run' | undefined> {
  if (!BARE_ID.test(ref)) return undefined
  const { sessions, runs } = daemon.store
  const found = [
    [
      'session',
      await nameMatches(
        () => sessions.resolve(ref),
        ({ name }) => name,
      ),
    ],
    [
      'task',
      await nameMatches(
        () => getTasks(daemon).find(ref),
        ({ title }) => title,
      ),
    ],
    [
      'run',
      await nameMatches(
        () => runs.resolve(ref.toLowerCase()),
        ({ reason, state }) => reason ?? state,
      ),
    ],
  ] as const
  const matching = found.filter(([, names]) => names !== undefined)
  const isName = found[0][1]?.endsWith(` (${ref})`)
  if (matching.length <= 1 || isName) return matching[0]?.[0]
  throw new AppError('session_ambiguous', { ref, matches: matching.map(([, names]) => names).join(', ') })
}

/** What a reference matches, each with its id and name; undefined if it matches nothing. */
async function nameMatches<T extends { id: string }>(
  find: () => Promise<T>,
  nameOf: (found: T) => string,
): Promise<string | undefined> {
  try {
    const found = await find()
    return `${found.id} (${nameOf(found)})`
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return 'matches' in error.detail ? String(error.detail['matches']) : undefined
  }
}

/** A row with the asks that are open at its terminals. A session that is at work by its row, but is not running, was interrupted. */
export function viewSession(
  row: SessionRow,
  daemon: DaemonContext,
  heldAccounts: ReadonlySet<string> = NONE,
): SessionView {
  const isAtWork = row.state === 'running' || row.state === 'asking'
  const owner = isAtWork && !daemon.supervisor.run(row.id) ? NOBODY : daemon.bootId
  const view = toSessionView(row, owner, daemon.terminals.open(row.id))
  const held = findHold(row, view, heldAccounts)
  const { agent, control } = (row.state !== 'ended' && daemon.supervisor.run(row.id)) || {}
  return {
    ...view,
    ...(held && { held }),
    ...(agent?.session?.takenOver && { taken_over: true }),
    ...(control?.pausing === 'person' && { pausing: true }),
  }
}

/** Adds the title and the state of each session's task: its text may be long, and begins with anything. */
export async function addTitles(views: readonly SessionView[], { store }: DaemonContext): Promise<SessionView[]> {
  const tasks = await store.tasks.of(views.flatMap(({ task_id }) => task_id ?? []))
  const byId = new Map(tasks.map(task => [task.id, task]))
  return views.map(view => {
    const task = byId.get(view.task_id ?? '')
    return task === undefined ? view : { ...view, title: task.title, task_state: task.state }
  })
}

const NOBODY = ''
const NONE: ReadonlySet<string> = new Set()

/** The accounts that a person holds; `EVERY_ACCOUNT` is among them if the hold is on all. */
async function readHeldAccounts({ store }: DaemonContext): Promise<ReadonlySet<string>> {
  return new Set((await store.gates.list()).filter(gate => gate.held).map(({ account }) => account))
}

function findHold({ held_at, account }: SessionRow, { status }: SessionView, held: ReadonlySet<string>) {
  if (held_at !== null && !isFinal(status)) return 'session'
  const isHeld = held.has(EVERY_ACCOUNT) || (account !== null && held.has(account))
  return isHeld && status === 'rate_limited' ? 'account' : undefined
}

/** A blank task gets an error of its own: it is what an unset shell variable leads to. */
export function isBlankTask(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !('task' in body)) return false
  return typeof body.task === 'string' && body.task.trim() === ''
}

/** `running` is accepted for `processing`, because people call it that. */
function parseStatuses(text: string): Set<string> {
  const names = splitList(text).map(name => (name === 'running' ? 'processing' : name))
  return new Set(names.map(name => parseRequest(SessionStatus, name, 'GET /sessions?status=')))
}

/** Kinds of events with commas between them. */
export function parseKinds(text: string): EventKind[] {
  const Kind = z.enum(Object.keys(EVENT_BODIES) as [EventKind, ...EventKind[]])
  return splitList(text).map(name => parseRequest(Kind, name, 'GET /sessions/:ref/events?kinds='))
}

/** Whether a kind of event is one of these; `task.*` means all that begin so. */
export function parseKindPatterns(text: string): (kind: EventKind) => boolean {
  const words = splitList(text)
  const beginnings = words.filter(word => word.endsWith('.*')).map(word => word.slice(0, -1))
  const exact = words.filter(word => !word.endsWith('.*'))
  const kinds = new Set<string>(exact.length === 0 ? [] : parseKinds(exact.join(',')))
  return kind => kinds.has(kind) || beginnings.some(beginning => kind.startsWith(beginning))
}

function splitList(text: string): string[] {
  return text.split(',').map(name => name.trim())
}

/** A session as the API shows it. A parked call is listed as an open ask too, because it can be answered. */
function toSessionView(row: SessionRow, bootId: string, openAsks: OpenAsk[]): SessionView {
  const { status, reason } = statusOf(row, bootId)
  return {
    id: row.id,
    name: row.name,
    project: row.project,
    task: row.task,
    task_id: row.task_id,
    ...(row.options.run && { run_id: row.options.run.id }),
    ...(row.options.place && { place: toPlaceView(row.options.place) }),
    agent: row.agent,
    ...(row.options.host && { host: row.options.host }),
    ...(row.options.handed && { handed: toRestingAgents(row.options.handed) }),
    model: row.model,
    status,
    queued: status === 'idle' && row.state === 'queued',
    mind: row.options.mind,
    reason,
    vendor_id: row.vendor_id,
    created_at: row.created_at,
    ended_at: row.ended_at,
    activity: row.activity,
    resumes_at: row.held_at === null ? row.resumes_at : null,
    plan: row.plan,
    tokens: {
      context: row.context_tokens,
      window: row.context_window,
      input: row.input_tokens,
      output: row.output_tokens,
    },
    // The cost is reported at the end of a turn: a turn that was cut short has tokens but no price.
    cost_usd: row.cost_usd === 0 && row.output_tokens > 0 ? null : row.cost_usd,
    turns: row.turns,
    tools: { auto: row.tools_auto, human: row.tools_human, denied: row.tools_denied },
    questions: { auto: row.questions_auto, human: row.questions_human },
    asks: [...parkedAsk(row), ...openAsks],
  }
}

function toRestingAgents({ resting }: HandOver): SessionView['handed'] {
  return resting.map(({ choice, left_at, until, why }) => ({ agent: choice.name, left_at, until, why }))
}

function toPlaceView({ directory, branch, target }: Worktree): SessionView['place'] {
  return { directory, branch, target }
}

function parkedAsk({ parked, state, ended_as }: SessionRow): OpenAsk[] {
  return parked && state === 'ended' && ended_as === 'waiting_input' ? [toOpenAsk(parked)] : []
}

/** A parked call as it would be asked at a terminal. */
export function toOpenAsk(parked: Parked): OpenAsk {
  const { ask_id, number } = parked
  const ids = { ask_id, ...(number !== undefined && { number }) }
  if ('questions' in parked) {
    const { questions, suggestion } = parked
    return { kind: 'question', ...ids, questions, ...(suggestion && { suggestion }) }
  }
  const { tool, target, risk, reason, reasons = [], suggestion } = parked
  return { kind: 'permission', ...ids, tool, target, risk, reason, reasons, ...(suggestion && { suggestion }) }
}

/** The session that works on a task, or did so last. */
async function findSessionOfTask(ref: string, daemon: DaemonContext): Promise<SessionRow> {
  const { store } = daemon
  const task = await getTasks(daemon).find(ref)
  const { id, state, session_id } = task
  const last = (await store.runs.attempts({ task: id })).at(-1)
  const sessionId = session_id ?? last?.session_id
  const session = sessionId === undefined ? undefined : await store.sessions.get(sessionId)
  if (!session) throw new AppError('task_without_session', { id, state, next: await wayToBegin(task, daemon) })
  return session
}

/** What has to be typed before a task has a session. */
async function wayToBegin(task: Task, { store }: DaemonContext): Promise<string> {
  const waits = task.state === 'blocked' ? await findWaitFor(task, store) : undefined
  if (waits) return `It comes after ${waits.blockers}. ${waits.next}`
  return task.state === 'ready' ? `Start it with: pcc run ${task.id}` : 'It needs no session.'
}
