import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { EVERY_ACCOUNT } from '../../domain/account/limit.ts'
import { SessionStatus, type SessionView, StartSession } from '../../domain/api.ts'
import { EVENT_BODIES, type EventKind } from '../../domain/event.ts'
import type { SessionRow } from '../../store/tables.ts'
import { checked } from '../http/errors.ts'
import { viewOf } from '../http/view-of.ts'
import type { World } from '../world.ts'
import { escalationsOf } from './escalations-of.ts'
import { sessionOfTask } from './runs/session-of-task.ts'
import { tasksOf } from './tasks-of.ts'

const Ref = z.object({ ref: z.string().min(1) })

const ListQuery = z.strictObject({
  status: z.string().optional(),
  project: z.string().min(1).optional(),
})

const EventsQuery = z.strictObject({
  after: z.coerce.number().int().min(0).optional(),
  tail: z.coerce.number().int().min(1).max(100_000).optional(),
  kinds: z.string().optional(),
})

/** Statuses of a session that is over for good. */
export const FINAL_STATUSES: ReadonlySet<SessionStatus> = new Set(['completed', 'stopped', 'error'])

/** Starting sessions and looking at them. */
export function sessionRoutes(app: FastifyInstance, world: World): void {
  app.post('/sessions', async (request, reply) => {
    if (isBlankTask(request.body)) throw new AppError('task_empty', {})
    const start = checked(StartSession, request.body, 'POST /sessions')
    const row = await world.supervisor.start(start)
    return reply.code(201).send(view(row, world))
  })

  app.get('/sessions', async request => {
    const query = checked(ListQuery, request.query, 'GET /sessions')
    const wanted = query.status === undefined ? undefined : statusesOf(query.status)
    const project = query.project === undefined ? undefined : await realOrSpelled(query.project)
    const rows = await world.store.sessions.list({ project })
    const held = await heldAccounts(world)
    const sessions = rows.map(row => view(row, world, held)).filter(({ status }) => wanted?.has(status) ?? true)
    return { sessions, decisions: await escalationsOf(world).waiting() }
  })

  app.get('/sessions/:ref', async (request): Promise<SessionView> => {
    const row = await sessionOf(request.params, world)
    return { ...view(row, world, await heldAccounts(world)), queue: await tasksOf(world).queue(row.id) }
  })

  app.get('/sessions/:ref/events', async request => {
    const { id } = await sessionOf(request.params, world)
    const query = checked(EventsQuery, request.query, 'GET /sessions/:ref/events')
    const kinds = query.kinds === undefined ? undefined : kindsOf(query.kinds)
    return { events: await world.store.events({ subject: id, after: query.after, tail: query.tail, kinds }) }
  })
}

/** The session a route's `:ref` means: by its own id or name, or by the id of the task that it does. */
export async function sessionOf(params: unknown, world: World): Promise<SessionRow> {
  const { ref } = checked(Ref, params, 'a session route')
  try {
    return await world.store.sessions.resolve(ref)
  } catch (error) {
    const isUnknown = error instanceof AppError && error.code === 'session_unknown'
    if (!isUnknown || !TASK_ID.test(ref)) throw error
    return sessionOfTask(ref, world)
  }
}

const TASK_ID = /^t-[0-9a-f]{1,6}$/i

/** A row with what is open at its terminals. One that is at work by its row, but run by nobody here, was interrupted. */
export function view(row: SessionRow, world: World, heldAccounts: ReadonlySet<string> = NONE): SessionView {
  const atWork = row.state === 'running' || row.state === 'asking'
  const owner = atWork && !world.supervisor.run(row.id) ? NOBODY : world.bootId
  const seen = viewOf(row, owner, world.terminals.open(row.id))
  const held = holdOn(row, seen, heldAccounts)
  const isTakenOver = row.state !== 'ended' && world.supervisor.run(row.id)?.session?.takenOver === true
  return { ...seen, ...(held && { held }), ...(isTakenOver && { taken_over: true }) }
}

const NOBODY = ''
const NONE: ReadonlySet<string> = new Set()

/** Accounts whose sessions a person holds back; `EVERY_ACCOUNT` among them where it is all. */
async function heldAccounts({ store }: World): Promise<ReadonlySet<string>> {
  return new Set((await store.gates.list()).filter(gate => gate.held).map(({ account }) => account))
}

function holdOn({ held_at, account }: SessionRow, { status }: SessionView, held: ReadonlySet<string>) {
  if (held_at !== null && !FINAL_STATUSES.has(status)) return 'session'
  const isHeld = held.has(EVERY_ACCOUNT) || (account !== null && held.has(account))
  return isHeld && status === 'rate_limited' ? 'account' : undefined
}

/** Said in words of its own, since it is what happens to a variable that was not set. */
export function isBlankTask(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !('task' in body)) return false
  return typeof body.task === 'string' && body.task.trim() === ''
}

/** `running` is what people call `processing`. */
function statusesOf(text: string): Set<string> {
  const names = listOf(text).map(name => (name === 'running' ? 'processing' : name))
  return new Set(names.map(name => checked(SessionStatus, name, 'GET /sessions?status=')))
}

function kindsOf(text: string): EventKind[] {
  const Kind = z.enum(Object.keys(EVENT_BODIES) as [EventKind, ...EventKind[]])
  return listOf(text).map(name => checked(Kind, name, 'GET /sessions/:ref/events?kinds='))
}

function listOf(text: string): string[] {
  return text.split(',').map(name => name.trim())
}

/** Projects are stored by their real path; one that is gone is looked up as it is spelled. */
function realOrSpelled(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path))
}
