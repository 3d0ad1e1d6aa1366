import type { Kysely } from 'kysely'
import type { StoredEvent } from '../../domain/event.ts'
import type { FollowOptions } from '../store.ts'
import type { Tables } from '../tables.ts'
import { fromRow } from './event-row.ts'
import type { Wake } from './wake.ts'

/** Rows fetched at once: few enough that a slow reader holds little memory. */
const PAGE = 500

/**
 * Every event after an id, then each new one as it is committed.
 *
 * Ids rise in the order of commits, so "everything above the last one seen" has neither gaps nor repetitions. The ring is
 * counted before the read: an append between the read and the wait makes the wait return at once.
 */
export async function* followEvents(
  db: Kysely<Tables>,
  wake: Wake,
  after: number,
  options: FollowOptions = {},
): AsyncGenerator<StoredEvent, void, undefined> {
  let last = after
  const over = () => wake.closed || options.signal?.aborted === true
  while (!over()) {
    const rings = wake.count
    const rows = await readPage(db, last, options.subject)
    for (const row of rows) {
      last = row.id
      const event = fromRow(row)
      if (event) yield event
      if (over()) return
    }
    if (rows.length < PAGE) await wake.wait(rings, options.signal)
  }
}

function readPage(db: Kysely<Tables>, after: number, subject: string | undefined) {
  let select = db.selectFrom('events').selectAll().where('id', '>', after)
  if (subject !== undefined) select = select.where('subject', '=', subject)
  return select.orderBy('id').limit(PAGE).execute()
}
