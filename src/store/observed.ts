import type { Kysely } from 'kysely'
import type { Captured, CapturedRow, ObservedSession } from '../domain/hook-capture.ts'
import type { Migration } from './migrate.ts'
import type { ObservedStore } from './store.ts'
import type { Tables } from './tables.ts'
import type { Writer } from './writer.ts'

/** Sessions of agents that pcc did not start, and the ids of what their hooks reported. */
export const observedSessions: Migration = {
  number: 28,
  name: 'observed sessions',
  async up(db, { columns }) {
    await db.schema
      .createTable('observed_sessions')
      .addColumn('id', 'text', column => column.notNull().primaryKey())
      .addColumn('vendor', 'text', column => column.notNull())
      .addColumn('vendor_session', 'text', column => column.notNull())
      .addColumn('project', 'text', column => column.notNull())
      .addColumn('model', 'text')
      .addColumn('started_at', columns.integer, column => column.notNull())
      .addColumn('last_at', columns.integer, column => column.notNull())
      .addColumn('ended_at', columns.integer)
      .addColumn('ended_as', 'text')
      .addColumn('pid', columns.integer)
      .addColumn('start_time', 'text')
      .addColumn('calls', columns.integer, column => column.notNull())
      .addColumn('denied', columns.integer, column => column.notNull())
      .addColumn('input_tokens', columns.integer, column => column.notNull())
      .addColumn('output_tokens', columns.integer, column => column.notNull())
      .execute()
    await db.schema
      .createTable('captured_ids')
      .addColumn('id', 'text', column => column.notNull().primaryKey())
      .addColumn('at', columns.integer, column => column.notNull())
      .execute()
  },
}

/** What these sessions used, by the time at which it was seen. */
export const observedUsage: Migration = {
  number: 29,
  name: 'usage of observed sessions',
  async up(db, { columns }) {
    await db.schema
      .createTable('observed_usage')
      .addColumn('vendor', 'text', column => column.notNull())
      .addColumn('at', columns.integer, column => column.notNull())
      .addColumn('tokens', columns.integer, column => column.notNull())
      .execute()
    await db.schema.createIndex('observed_usage_at').on('observed_usage').columns(['at']).execute()
  },
}

/** What an observed session cost. That of earlier ones is not known. */
export const observedCost: Migration = {
  number: 32,
  name: 'cost of observed sessions',
  async up(db, { columns }) {
    const table = db.schema.alterTable('observed_sessions')
    await table.addColumn('cost_usd', columns.real).execute()
    await table.addColumn('cost_estimated', columns.integer, column => column.notNull().defaultTo(1)).execute()
  },
}

/** Opens the tables of observed sessions. */
export function openObservedStore(read: Kysely<Tables>, writer: Writer): ObservedStore {
  return {
    capture: rows =>
      writer.transaction(async tx => {
        const fresh = await keepIds(tx.db, rows)
        if (fresh.length === 0) return 0
        await tx.append(
          fresh.map(({ at, subject, body }) => ({ time: at, actor: 'agent', subject, kind: 'hook.captured', body })),
        )
        const used = fresh.flatMap(({ at, body }) => {
          if (body.type !== 'usage') return []
          return [{ vendor: body.vendor, at, tokens: body.input_tokens + body.output_tokens }]
        })
        if (used.length > 0) await tx.db.insertInto('observed_usage').values(used).execute()
        for (const [id, own] of Map.groupBy(fresh, ({ subject }) => subject)) await putSession(tx.db, id, own)
        return fresh.length
      }),
    get: id => findSession(read, id),
    list: ({ project, since } = {}) => {
      let select = read.selectFrom('observed_sessions').selectAll()
      if (project !== undefined) select = select.where('project', '=', project)
      if (since !== undefined) select = select.where('last_at', '>=', since)
      return select.orderBy('started_at', 'desc').orderBy('id').execute()
    },
    end: (ids, { at, as }) =>
      writer.transaction(async ({ db }) => {
        for (const id of ids) {
          const ending = db.updateTable('observed_sessions').set({ ended_at: at, ended_as: as }).where('id', '=', id)
          await ending.where('ended_at', 'is', null).execute()
        }
      }),
    spent: async (vendor, since) => {
      const rows = read.selectFrom('observed_usage').where('vendor', '=', vendor).where('at', '>=', since)
      const sum = await rows.select(({ fn }) => fn.sum<number>('tokens').as('tokens')).executeTakeFirst()
      return Number(sum?.tokens ?? 0)
    },
    forgetIds: before =>
      writer.transaction(async ({ db }) => {
        for (const table of ['captured_ids', 'observed_usage'] as const)
          await db.deleteFrom(table).where('at', '<', before).execute()
      }),
  }
}

/** Keeps the ids, and returns the rows whose ids were not known. */
async function keepIds(db: Kysely<Tables>, rows: readonly CapturedRow[]): Promise<CapturedRow[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ body, at }) => ({ id: body.id, at }))
  const kept = await db
    .insertInto('captured_ids')
    .values(ids)
    .onConflict(known => known.column('id').doNothing())
    .returning('id')
    .execute()
  const fresh = new Set(kept.map(({ id }) => id))
  // The same id twice in one batch is one event.
  return rows.filter(({ body }) => fresh.delete(body.id))
}

function findSession(db: Kysely<Tables>, id: string): Promise<ObservedSession | undefined> {
  return db.selectFrom('observed_sessions').selectAll().where('id', '=', id).executeTakeFirst()
}

async function putSession(db: Kysely<Tables>, id: string, rows: readonly CapturedRow[]): Promise<void> {
  const known = await findSession(db, id)
  const session = rows.reduce(applyCaptured, known)
  if (!session) return
  if (known) await db.updateTable('observed_sessions').set(session).where('id', '=', id).execute()
  else await db.insertInto('observed_sessions').values(session).execute()
}

/** The session after one more event. An event after its end begins it again: a conversation can be resumed. */
function applyCaptured(known: ObservedSession | undefined, { at, subject, body, about }: CapturedRow): ObservedSession {
  const before = known ?? newSession(subject, at, body)
  const isOver = body.type === 'session_complete' || body.type === 'session_error'
  const [ended_at, ended_as] = isOver
    ? [at, endOf(body)]
    : at < (before.ended_at ?? 0)
      ? [before.ended_at, before.ended_as]
      : [null, null]
  const tokens = body.type === 'usage' ? body : { input_tokens: 0, output_tokens: 0 }
  return {
    ...before,
    model: about.model ?? before.model,
    pid: about.pid ?? before.pid,
    start_time: about.start_time ?? before.start_time,
    last_at: Math.max(before.last_at, at),
    ended_at,
    ended_as,
    calls: before.calls + (body.type === 'tool_use_start' ? 1 : 0),
    denied: before.denied + (body.type === 'call_decided' && body.verdict === 'deny' ? 1 : 0),
    input_tokens: before.input_tokens + tokens.input_tokens,
    output_tokens: before.output_tokens + tokens.output_tokens,
    ...(body.type === 'usage' && costAfter(before, body)),
  }
}

/** The vendor's own count replaces every estimate; what is used after it is estimated again. */
function costAfter(
  { cost_usd }: ObservedSession,
  used: Extract<Captured, { type: 'usage' }>,
): Pick<ObservedSession, 'cost_usd' | 'cost_estimated'> {
  if (used.total_cost_usd !== undefined) return { cost_usd: used.total_cost_usd, cost_estimated: 0 }
  const isKnown = cost_usd !== null && used.cost_usd !== undefined
  return { cost_usd: isKnown ? cost_usd + (used.cost_usd ?? 0) : null, cost_estimated: 1 }
}

function endOf(body: Captured): string {
  return body.type === 'session_error' ? body.error_type : body.type === 'session_complete' ? body.result : ''
}

function newSession(id: string, at: number, { vendor, session, project }: Captured): ObservedSession {
  const times = { started_at: at, last_at: at, ended_at: null, ended_as: null }
  const counts = { calls: 0, denied: 0, input_tokens: 0, output_tokens: 0, cost_usd: 0, cost_estimated: 0 as const }
  return { id, vendor, vendor_session: session, project, model: null, pid: null, start_time: null, ...times, ...counts }
}
