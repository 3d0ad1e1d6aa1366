import { type Kysely, type SqlBool, sql } from 'kysely'
import type { Clock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import { ENDED_AS, isFinal, isResting } from '../domain/session-end.ts'
import type { SessionFilter, SessionStore, Tx } from './store.ts'
import type { NewSessionRow, SessionRow, SessionsTable, Tables } from './tables.ts'
import { inBatches } from './tasks.ts'
import type { Writer } from './writer.ts'

/** How many matches are listed when a reference is ambiguous. */
const MATCHES_SHOWN = 8

export interface SessionStoreDeps {
  read: Kysely<Tables>
  writer: Writer
  clock: Clock
}

/** The table of sessions. */
export function openSessionStore({ read, writer, clock }: SessionStoreDeps): SessionStore {
  const write = <T>(tx: Tx | undefined, work: (db: Kysely<Tables>) => Promise<T>) =>
    tx ? work(tx.db) : writer.transaction(own => work(own.db))
  return {
    insert: (row, tx) => write(tx, db => insertSession(db, row, clock.now())),
    update: (id, patch, tx) => write(tx, db => updateSession(db, id, patch)),
    get: (id, tx) => getSession(tx?.db ?? read, id),
    of: async ids => {
      const rows = await inBatches(ids, batch =>
        read.selectFrom('sessions').selectAll().where('id', 'in', batch).execute(),
      )
      return rows.map(fromSessionRow)
    },
    list: filter => listSessions(read, filter),
    count: async ({ project } = {}) => {
      const all = read.selectFrom('sessions').select(({ fn }) => fn.countAll<number>().as('count'))
      const counted = project === undefined ? all : all.where('project', '=', project)
      return Number((await counted.executeTakeFirst())?.count ?? 0)
    },
    resolve: ref => resolveSession(read, ref),
    waiting: tx => listWaitingSessions(tx?.db ?? read),
    standing: async () => {
      const ended = read.selectFrom('sessions').selectAll().where('state', '=', 'ended').where('resumes_at', 'is', null)
      const standing = ended.where('ended_as', 'in', ENDED_AS.filter(isResting))
      return (await standing.orderBy('ended_at').orderBy('id').execute()).map(fromSessionRow)
    },
  }
}

async function insertSession(db: Kysely<Tables>, row: NewSessionRow, now: number): Promise<SessionRow> {
  const session = { ...emptySession(row, now), ...row }
  await db.insertInto('sessions').values(toSessionColumns(session)).execute()
  return session
}

async function updateSession(db: Kysely<Tables>, id: string, patch: Partial<SessionRow>): Promise<void> {
  const columns = toSessionColumns(patch)
  if (Object.keys(columns).length === 0) return
  const { numUpdatedRows } = await db.updateTable('sessions').set(columns).where('id', '=', id).executeTakeFirst()
  if (numUpdatedRows === 0n) throw new AppError('session_unknown', { ref: id })
}

async function getSession(db: Kysely<Tables>, id: string): Promise<SessionRow | undefined> {
  const row = await db.selectFrom('sessions').selectAll().where('id', '=', id).executeTakeFirst()
  return row && fromSessionRow(row)
}

async function listSessions(
  db: Kysely<Tables>,
  { project, only, since, limit }: SessionFilter = {},
): Promise<SessionRow[]> {
  let select = db.selectFrom('sessions').selectAll()
  if (project !== undefined) select = select.where('project', '=', project)
  if (only === 'live') select = select.where('state', '!=', 'ended')
  if (only === 'marked') select = select.where('marker', 'is not', null)
  if (only === 'parked') select = select.where('parked', 'is not', null)
  if (only === 'open')
    select = select.where(({ eb, or }) =>
      or([
        eb('state', '!=', 'ended'),
        eb('ended_as', 'not in', ENDED_AS.filter(isFinal)),
        eb('resumes_at', 'is not', null),
        eb('held_at', 'is not', null),
        ...(since === undefined ? [] : [eb('ended_at', '>=', since)]),
      ]),
    )
  if (limit !== undefined) select = select.limit(limit)
  const rows = await select.orderBy('created_at', 'desc').orderBy('id').execute()
  return rows.map(fromSessionRow)
}

async function listWaitingSessions(db: Kysely<Tables>): Promise<SessionRow[]> {
  const select = db.selectFrom('sessions').selectAll().where('resumes_at', 'is not', null)
  const rows = await select.where('state', '=', 'ended').orderBy('resumes_at').execute()
  return rows.map(fromSessionRow)
}

/** A complete id or name wins over a beginning of others. */
async function resolveSession(db: Kysely<Tables>, ref: string): Promise<SessionRow> {
  if (ref === '') throw new AppError('session_unknown', { ref })
  const sessions = db.selectFrom('sessions').selectAll().orderBy('created_at', 'desc').limit(MATCHES_SHOWN)
  const queries = [
    sessions.where('id', 'in', [ref, `s-${ref}`]),
    sessions.where('name', '=', ref),
    sessions.where(({ or }) => or([startsWith('id', ref), startsWith('id', `s-${ref}`), startsWith('name', ref)])),
  ]
  for (const query of queries) {
    const rows = await query.execute()
    const [row] = rows
    if (!row) continue
    if (rows.length === 1) return fromSessionRow(row)
    const matches = rows.map(row => `${row.id} (${row.name})`).join(', ')
    throw new AppError('session_ambiguous', { ref, matches })
  }
  throw new AppError(/^r-/i.test(ref) ? 'run_unknown' : 'session_unknown', { ref })
}

/** Not LIKE, because databases disagree on whether LIKE is case-sensitive. */
function startsWith(column: 'id' | 'name', text: string) {
  return sql<SqlBool>`substr(${sql.ref(column)}, 1, ${sql.val([...text].length)}) = ${sql.val(text)}`
}

function emptySession(
  { project, task }: NewSessionRow,
  now: number,
): Omit<SessionRow, 'id' | 'name' | 'project' | 'task' | 'agent'> {
  return {
    model: null,
    vendor_id: null,
    options: { project, task },
    owner: null,
    state: 'starting',
    status_reason: null,
    ended_as: null,
    created_at: now,
    started_at: null,
    ended_at: null,
    resumes_at: null,
    activity: null,
    plan: [],
    input_tokens: 0,
    output_tokens: 0,
    context_tokens: 0,
    context_window: 0,
    cost_usd: 0,
    turns: 0,
    tools_auto: 0,
    tools_human: 0,
    tools_denied: 0,
    questions_auto: 0,
    questions_human: 0,
    parked: null,
    account: null,
    marker: null,
    agent_pid: null,
    agent_started: null,
    task_id: null,
    retries: 0,
    recoveries: 0,
    intent: null,
    priority: 0,
    held_at: null,
  }
}

/** A session's row with its JSON parsed. A damaged value becomes an empty one, so that the session stays listable. */
function fromSessionRow(row: SessionsTable): SessionRow {
  return {
    ...row,
    options: parseJson(row.options) ?? { project: row.project, task: row.task },
    plan: parseJson(row.plan) ?? [],
    parked: row.parked === null ? null : (parseJson(row.parked) ?? null),
  }
}

/** The columns of a complete session. */
function toSessionColumns(row: SessionRow): SessionsTable
/** The columns of a partial change. */
function toSessionColumns(row: Partial<SessionRow>): Partial<SessionsTable>
function toSessionColumns({ options, plan, parked, ...plain }: Partial<SessionRow>): Partial<SessionsTable> {
  return {
    ...plain,
    ...(options && { options: JSON.stringify(options) }),
    ...(plan && { plan: JSON.stringify(plan) }),
    ...(parked !== undefined && { parked: parked && JSON.stringify(parked) }),
  }
}

function parseJson<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T
  } catch {
    return undefined // damaged outside of the program
  }
}
