import type { Kysely } from 'kysely'
import type { Escalation } from '../../domain/escalation.ts'
import type { EscalationFilter, EscalationRow, Escalations, StoredAnswer } from '../store.ts'
import type { Tables } from '../tables.ts'
import { asColumns, parsedRow } from './escalation-row.ts'
import { joinDecision, sessionsOf, withdraw } from './escalation-sessions.ts'

/** Opens the table. Everything that writes is part of a transaction: a row belongs to the event that tells of it. */
export function openEscalations(read: Kysely<Tables>): Escalations {
  return {
    insert: (row, tx) => insert(tx.db, row),
    latest: async (session, fingerprint, tx) => {
      const same = tx.db.selectFrom('escalations').selectAll().where('session_id', '=', session)
      return first(await same.where('fingerprint', '=', fingerprint).orderBy('number', 'desc').limit(1).execute())
    },
    shared: async (dedupKey, tx) => {
      const open = tx.db.selectFrom('escalations').selectAll().where('state', '=', 'open')
      return first(await open.where('dedup_key', '=', dedupKey).execute())
    },
    join: (number, session, tx) => joinDecision(tx.db, number, session),
    leave: async (number, session, tx) => {
      const here = tx.db.deleteFrom('escalation_sessions').where('number', '=', number)
      await here.where('session_id', '=', session).execute()
    },
    sessionsOf: (numbers, tx) => sessionsOf(tx?.db ?? read, numbers),
    repeat: async (number, again, tx) => {
      await tx.db
        .updateTable('escalations')
        .set(row => ({
          ...again,
          ...(again.state !== 'answered' && UNANSWERED),
          count: row('count', '+', 1),
        }))
        .where('number', '=', number)
        .execute()
    },
    refuse: async (number, tx) => {
      const open = tx.db
        .updateTable('escalations')
        .set({ state: 'denied', deadline: null })
        .where('number', '=', number)
      await open.where('state', '=', 'open').execute()
    },
    answer: (number, answer, tx) => answerOnce(tx.db, number, answer),
    reopen: async (number, tx) => {
      await tx.db
        .updateTable('escalations')
        // Another session may have asked the same meanwhile: that is a row of its own by now.
        .set({ state: 'open', dedup_key: null, deadline: null, ...UNANSWERED })
        .where('number', '=', number)
        .where('state', 'in', ['answered', 'denied'])
        .where('answered_by', 'is not', null)
        .execute()
    },
    withdraw: (session, why, tx) => withdraw(tx.db, session, why),
    get: async (number, tx) => {
      const select = (tx?.db ?? read).selectFrom('escalations').selectAll()
      return first(await select.where('number', '=', number).execute())
    },
    due: now => due(read, now),
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
  const added = db.insertInto('escalations').values(asColumns(row)).returning('number')
  const { number } = await added.executeTakeFirstOrThrow()
  await joinDecision(db, number, row)
  return number
}

/** Compare and swap: of two who answer at once one finds the row answered. */
async function answerOnce(
  db: Kysely<Tables>,
  number: number,
  { verdict, answer, by, reason, at, from, to = 'answered' }: StoredAnswer,
): Promise<boolean> {
  const said = { verdict: verdict ?? null, answer: answer ? JSON.stringify(answer) : null }
  const { numUpdatedRows } = await db
    .updateTable('escalations')
    .set({ state: to, ...said, answered_by: by, answered_at: at, answer_reason: reason ?? null })
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
  return (await select.orderBy('priority', 'desc').orderBy('number').execute()).map(parsedRow)
}

async function due(db: Kysely<Tables>, now: number): ReturnType<Escalations['due']> {
  const open = db.selectFrom('escalations').where('state', '=', 'open')
  const late = await open.selectAll().where('deadline', '<=', now).orderBy('deadline').execute()
  const later = open.select(({ fn }) => fn.min('deadline').as('next')).where('deadline', '>', now)
  return { rows: late.map(parsedRow), next: (await later.executeTakeFirst())?.next ?? undefined }
}

function first(rows: Parameters<typeof parsedRow>[0][]): Escalation | undefined {
  return rows[0] && parsedRow(rows[0])
}

const UNANSWERED = { verdict: null, answer: null, answered_by: null, answered_at: null, answer_reason: null }
