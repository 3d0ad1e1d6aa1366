import type { Kysely } from 'kysely'
import type { Escalation } from '../../domain/escalation.ts'
import type { EscalationFilter, EscalationRow, Escalations, StoredAnswer } from '../store.ts'
import type { EscalationsTable, Tables } from '../tables.ts'

/** Opens the table. Everything that writes is part of a transaction: a row belongs to the event that tells of it. */
export function openEscalations(read: Kysely<Tables>): Escalations {
  return {
    insert: (row, tx) => insert(tx.db, row),
    latest: (session, fingerprint, tx) => latest(tx.db, session, fingerprint),
    repeat: async (number, again, tx) => {
      await tx.db
        .updateTable('escalations')
        .set(row => ({ ...again, count: row('count', '+', 1) }))
        .where('number', '=', number)
        .execute()
    },
    answer: (number, answer, tx) => answerOnce(tx.db, number, answer),
    reopen: async (number, tx) => {
      await tx.db
        .updateTable('escalations')
        .set({ state: 'open', ...UNANSWERED })
        .where('number', '=', number)
        .where('state', '=', 'answered')
        .execute()
    },
    withdraw: async (session, { reason, at }, tx) => {
      await tx.db
        .updateTable('escalations')
        .set({ state: 'withdrawn', answered_at: at, answer_reason: reason })
        .where('session_id', '=', session)
        .where('state', '=', 'open')
        .execute()
    },
    get: async (number, tx) => {
      const select = (tx?.db ?? read).selectFrom('escalations').selectAll()
      return whole(await select.where('number', '=', number).executeTakeFirst())
    },
    list: filter => list(read, filter),
    count: async states => {
      const select = read.selectFrom('escalations').select(({ fn }) => fn.countAll().as('all'))
      return Number((await select.where('state', 'in', states).executeTakeFirst())?.all ?? 0)
    },
  }
}

async function insert(db: Kysely<Tables>, row: EscalationRow): Promise<number> {
  const { input, reasons, answer, ...plain } = row
  const json = {
    input: JSON.stringify(input),
    reasons: JSON.stringify(reasons),
    answer: answer && JSON.stringify(answer),
  }
  const columns = { ...plain, ...json }
  const { number } = await db.insertInto('escalations').values(columns).returning('number').executeTakeFirstOrThrow()
  return number
}

async function latest(db: Kysely<Tables>, session: string, fingerprint: string): Promise<Escalation | undefined> {
  const same = db.selectFrom('escalations').selectAll().where('session_id', '=', session)
  const row = await same.where('fingerprint', '=', fingerprint).orderBy('number', 'desc').limit(1).executeTakeFirst()
  return whole(row)
}

/** Compare and swap: of two who answer at once one finds the row answered. */
async function answerOnce(
  db: Kysely<Tables>,
  number: number,
  { verdict, answer, by, reason, at, from }: StoredAnswer,
): Promise<boolean> {
  const said = { verdict: verdict ?? null, answer: answer ? JSON.stringify(answer) : null }
  const { numUpdatedRows } = await db
    .updateTable('escalations')
    .set({ state: 'answered', ...said, answered_by: by, answered_at: at, answer_reason: reason ?? null })
    .where('number', '=', number)
    .where('state', '=', from)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

async function list(db: Kysely<Tables>, { session, states }: EscalationFilter = {}): Promise<Escalation[]> {
  let select = db.selectFrom('escalations').selectAll()
  if (session !== undefined) select = select.where('session_id', '=', session)
  if (states !== undefined) select = select.where('state', 'in', states)
  return (await select.orderBy('number').execute()).map(parsed)
}

function whole(row: EscalationsTable | undefined): Escalation | undefined {
  return row && parsed(row)
}

/** Damaged JSON becomes nothing: the row must stay listable. */
function parsed(row: EscalationsTable): Escalation {
  return {
    ...row,
    input: json<Escalation['input']>(row.input) ?? {},
    reasons: json<Escalation['reasons']>(row.reasons) ?? [],
    answer: row.answer === null ? null : (json<Escalation['answer']>(row.answer) ?? null),
  }
}

function json<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T
  } catch {
    return undefined
  }
}

const UNANSWERED = { verdict: null, answer: null, answered_by: null, answered_at: null, answer_reason: null }
