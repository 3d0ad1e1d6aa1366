import type { Kysely } from 'kysely'
import type { Escalation, EscalationAnswer } from '../domain/escalation.ts'
import type { EscalationFilter, EscalationRow, Escalations } from './store.ts'
import type { EscalationsTable, Tables } from './tables.ts'

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
  const columns = { ...row, input: JSON.stringify(row.input) }
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
  { verdict, by, reason, at }: EscalationAnswer & { at: number },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('escalations')
    .set({ state: 'answered', verdict, answered_by: by, answered_at: at, answer_reason: reason ?? null })
    .where('number', '=', number)
    .where('state', '<>', 'answered')
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

/** A damaged input becomes an empty one: the row must stay listable. */
function parsed(row: EscalationsTable): Escalation {
  try {
    return { ...row, input: JSON.parse(row.input) as Escalation['input'] }
  } catch {
    return { ...row, input: {} }
  }
}
