import type { Kysely } from 'kysely'
import type { StoredEvent } from '../../domain/event.ts'
import type { EventQuery } from '../store.ts'
import type { Tables } from '../tables.ts'
import { fromRow } from './event-row.ts'

/** Stored events that fit, in order; rows that cannot be read are left out. */
export async function queryEvents(db: Kysely<Tables>, query: EventQuery): Promise<StoredEvent[]> {
  const { subject, after, before, kinds, limit, tail, from, until } = query
  if (kinds?.length === 0) return []
  let select = db.selectFrom('events').selectAll()
  if (subject !== undefined) select = select.where('subject', '=', subject)
  if (after !== undefined) select = select.where('id', '>', after)
  if (before !== undefined) select = select.where('id', '<', before)
  if (kinds !== undefined) select = select.where('kind', 'in', kinds)
  if (from !== undefined) select = select.where('time', '>=', from)
  if (until !== undefined) select = select.where('time', '<', until)
  const count = tail ?? limit
  if (count !== undefined) select = select.limit(count)
  const rows = await select.orderBy('id', tail === undefined ? 'asc' : 'desc').execute()
  if (tail !== undefined) rows.reverse()
  return rows
    .slice(0, limit)
    .map(fromRow)
    .filter(event => event !== undefined)
}

/** 0 where there is none. */
export async function newestEventId(db: Kysely<Tables>): Promise<number> {
  const row = await db
    .selectFrom('events')
    .select(({ fn }) => fn.max('id').as('id'))
    .executeTakeFirst()
  return row?.id ?? 0
}
