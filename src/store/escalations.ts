import type { Kysely } from 'kysely'
import { type Escalation, EscalationContext } from '../domain/escalation.ts'
import type { Migration } from './migrate.ts'
import type { EscalationFilter, EscalationRow, EscalationStore, StoredAnswer } from './store.ts'
import type { EscalationSession, EscalationsTable, Tables } from './tables.ts'

/**
 * A decision knows the id of its task, and a yes to a refused request may be used once later. The index is not unique: rows from
 * before have no task.
 */
export const allowedOnce: Migration = {
  number: 27,
  name: 'requests allowed once',
  async up(db, { columns }) {
    await db.schema.alterTable('escalations').addColumn('task_id', 'text').execute()
    await db.schema.alterTable('escalations').addColumn('bound', 'text').execute()
    await db.schema.alterTable('escalations').addColumn('allowed_until', columns.integer).execute()
    await db.schema.alterTable('escalations').addColumn('used_at', columns.integer).execute()
    await db.schema.createIndex('escalations_task').on('escalations').columns(['task_id', 'fingerprint']).execute()
  },
}

/** Opens the table. Every write is part of a transaction, because a row and its event belong together. */
export function openEscalationStore(read: Kysely<Tables>): EscalationStore {
  return {
    insert: (row, tx) => insert(tx.db, row),
    latest: async (session, fingerprint, tx) => {
      const own = tx.db.selectFrom('escalations').selectAll().where('session_id', '=', session)
      return parseFirst(await own.where('fingerprint', '=', fingerprint).orderBy('number', 'desc').limit(1).execute())
    },
    latestOfTask: async (task, fingerprint, tx) => {
      const all = tx.db.selectFrom('escalations').selectAll().where('task_id', '=', task)
      const late = all.where('fingerprint', '=', fingerprint).where('state', 'in', ['denied', 'answered'])
      return parseFirst(await late.orderBy('number', 'desc').limit(1).execute())
    },
    shared: async (dedupKey, tx) => {
      const open = tx.db.selectFrom('escalations').selectAll().where('state', '=', 'open')
      return parseFirst(await open.where('dedup_key', '=', dedupKey).execute())
    },
    join: (number, session, tx) => joinEscalation(tx.db, number, session),
    leave: async (number, session, tx) => {
      const waiting = tx.db.deleteFrom('escalation_sessions').where('number', '=', number)
      await waiting.where('session_id', '=', session).execute()
    },
    sessionsOf: (numbers, tx) => listSessions(tx?.db ?? read, numbers),
    repeat: async (number, patch, tx) => {
      await tx.db
        .updateTable('escalations')
        .set(row => ({
          ...patch,
          ...(patch.state !== 'answered' && UNANSWERED),
          count: row('count', '+', 1),
        }))
        .where('number', '=', number)
        .execute()
    },
    refuse: async (number, bound, tx) => {
      const open = tx.db
        .updateTable('escalations')
        .set({ state: 'denied', deadline: null, bound })
        .where('number', '=', number)
      await open.where('state', '=', 'open').execute()
    },
    answer: (number, answer, tx) => answerOnce(tx.db, number, answer),
    allowOnce: async (number, until, tx) => {
      const answered = tx.db.updateTable('escalations').set({ allowed_until: until }).where('number', '=', number)
      const refused = answered
        .where('state', '=', 'answered')
        .where('verdict', '=', 'allow')
        .where('used_at', 'is', null)
      return (await refused.where('bound', 'is not', null).executeTakeFirst()).numUpdatedRows === 1n
    },
    spendAllowance: (use, tx) => takeAllowance(tx.db, use),
    reopen: async (number, tx) => {
      await tx.db
        .updateTable('escalations')
        // Another session may have asked the same meanwhile, and that question has its own row by now.
        .set({ state: 'open', dedup_key: null, deadline: null, ...UNANSWERED })
        .where('number', '=', number)
        .where('state', 'in', ['answered', 'denied'])
        .where('answered_by', 'is not', null)
        .execute()
    },
    withdrawRefused: async (task, { reason, at }, tx) => {
      const refused = tx.db.updateTable('escalations').where('task_id', '=', task).where('state', '=', 'denied')
      await refused.set({ state: 'withdrawn', answered_at: at, answer_reason: reason }).execute()
    },
    withdraw: (session, why, tx) => withdrawSession(tx.db, session, why),
    get: async (number, tx) => {
      const select = (tx?.db ?? read).selectFrom('escalations').selectAll()
      return parseFirst(await select.where('number', '=', number).execute())
    },
    due: now => listDue(read, now),
    dropDeadline: async (number, tx) => {
      await tx.db.updateTable('escalations').set({ deadline: null }).where('number', '=', number).execute()
    },
    list: filter => list(read, filter),
    count: async states => {
      const select = read.selectFrom('escalations').select(({ fn }) => fn.countAll().as('all'))
      return Number((await select.where('state', 'in', states).executeTakeFirst())?.all ?? 0)
    },
  }
}

async function insert(db: Kysely<Tables>, row: EscalationRow): Promise<number> {
  const added = db.insertInto('escalations').values(escalationColumns(row)).returning('number')
  const { number } = await added.executeTakeFirstOrThrow()
  await joinEscalation(db, number, row)
  return number
}

/** Compare-and-swap: of two calls that use the same yes, one finds it used. */
async function takeAllowance(
  db: Kysely<Tables>,
  { bound, task, now }: { bound: string; task: string; now: number },
): Promise<Escalation | undefined> {
  const candidates = db.selectFrom('escalations').select('number').where('task_id', '=', task)
  const allowed = candidates.where('bound', '=', bound).where('allowed_until', '>', now).where('used_at', 'is', null)
  const found = await allowed.orderBy('number').limit(1).executeTakeFirst()
  if (!found) return undefined
  const taken = await db
    .updateTable('escalations')
    .set({ used_at: now })
    .where('number', '=', found.number)
    .where('used_at', 'is', null)
    .returningAll()
    .execute()
  return parseFirst(taken)
}

/** Compare-and-swap: of two people who answer at once, one finds the row already answered. */
async function answerOnce(
  db: Kysely<Tables>,
  number: number,
  { verdict, answer, by, reason, at, from, to = 'answered' }: StoredAnswer,
): Promise<boolean> {
  const columns = { verdict: verdict ?? null, answer: answer ? JSON.stringify(answer) : null }
  const { numUpdatedRows } = await db
    .updateTable('escalations')
    .set({ state: to, ...columns, answered_by: by, answered_at: at, answer_reason: reason ?? null })
    .$if(to === 'denied', query => query.set({ deadline: null }))
    .where('number', '=', number)
    .where('state', '=', from)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

async function list(db: Kysely<Tables>, { session, states }: EscalationFilter = {}): Promise<Escalation[]> {
  let select = db.selectFrom('escalations').selectAll()
  if (session !== undefined) {
    select = select.where('number', 'in', query =>
      query.selectFrom('escalation_sessions').select('number').where('session_id', '=', session),
    )
  }
  if (states !== undefined) select = select.where('state', 'in', states)
  return (await select.orderBy('priority', 'desc').orderBy('number').execute()).map(parseEscalation)
}

async function listDue(db: Kysely<Tables>, now: number): ReturnType<EscalationStore['due']> {
  const open = db.selectFrom('escalations').where('state', '=', 'open')
  const overdue = await open.selectAll().where('deadline', '<=', now).orderBy('deadline').execute()
  const later = open.select(({ fn }) => fn.min('deadline').as('next')).where('deadline', '>', now)
  return { rows: overdue.map(parseEscalation), next: (await later.executeTakeFirst())?.next ?? undefined }
}

function parseFirst(rows: Parameters<typeof parseEscalation>[0][]): Escalation | undefined {
  return rows[0] && parseEscalation(rows[0])
}

const UNANSWERED = {
  ...{ verdict: null, answer: null, answered_by: null, answered_at: null, answer_reason: null },
  ...{ allowed_until: null, used_at: null },
}

/** Lets a session wait for the answer. If it already waits, its newest call gets the answer. */
async function joinEscalation(db: Kysely<Tables>, number: number, session: EscalationSession): Promise<void> {
  const { session_id, call_id } = session
  await db
    .insertInto('escalation_sessions')
    .values({ number, session_id, call_id })
    .onConflict(same => same.columns(['number', 'session_id']).doUpdateSet({ call_id }))
    .execute()
}

/** The sessions that wait, or waited, for these answers. */
async function listSessions(db: Kysely<Tables>, numbers: readonly number[]): Promise<Tables['escalation_sessions'][]> {
  const sessions: Tables['escalation_sessions'][] = []
  for (let at = 0; at < numbers.length; at += AT_ONCE) {
    const all = db.selectFrom('escalation_sessions').selectAll()
    const batch = all.where('number', 'in', numbers.slice(at, at + AT_ONCE))
    sessions.push(...(await batch.orderBy('number').orderBy('session_id').execute()))
  }
  return sessions
}

/** A statement may have some ten thousand values. */
const AT_ONCE = 5_000

/** Withdraws the open decisions of a session. A decision that other sessions wait for stays open and is assigned to one of them. */
async function withdrawSession(
  db: Kysely<Tables>,
  session: string,
  { reason, at }: { reason: string; at: number },
): Promise<void> {
  const open = await db
    .selectFrom('escalations')
    .innerJoin('escalation_sessions', 'escalation_sessions.number', 'escalations.number')
    .select(['escalations.number', 'escalations.session_id'])
    .where('escalation_sessions.session_id', '=', session)
    .where('state', '=', 'open')
    .execute()
  for (const { number, session_id } of open) {
    const [other] = (await listSessions(db, [number])).filter(row => row.session_id !== session)
    const row = db.updateTable('escalations').where('number', '=', number)
    if (!other) {
      await row.set({ state: 'withdrawn', answered_at: at, answer_reason: reason }).execute()
      continue
    }
    const waiting = db.deleteFrom('escalation_sessions').where('number', '=', number)
    await waiting.where('session_id', '=', session).execute()
    if (session_id === session) await row.set({ session_id: other.session_id, call_id: other.call_id }).execute()
  }
}

/** The columns of a row. */
function escalationColumns(row: EscalationRow): Omit<EscalationsTable, 'number'> {
  const { input, reasons, context, answer, ...plain } = row
  return {
    ...plain,
    input: JSON.stringify(input),
    reasons: JSON.stringify(reasons),
    context: JSON.stringify(context),
    answer: answer && JSON.stringify(answer),
  }
}

/** Damaged JSON becomes an empty value, so that the row stays listable. */
function parseEscalation(row: EscalationsTable): Escalation {
  return {
    ...row,
    input: parseJson<Escalation['input']>(row.input) ?? {},
    reasons: parseJson<Escalation['reasons']>(row.reasons) ?? [],
    context: EscalationContext.safeParse(parseJson(row.context)).data ?? {},
    answer: row.answer === null ? null : (parseJson<Escalation['answer']>(row.answer) ?? null),
  }
}

function parseJson<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T
  } catch {
    return undefined
  }
}
