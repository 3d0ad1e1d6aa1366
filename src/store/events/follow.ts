import type { StoredEvent } from '../../domain/event.ts'
import type { Database } from '../database/database.ts'
import type { FollowOptions } from '../store.ts'
import type { EventRow } from '../tables.ts'
import { readPastDamage } from './damage.ts'
import { fromRow } from './event-row.ts'
import type { Wake } from './wake.ts'

/** Rows fetched at once: few enough that a slow reader holds little memory. */
const PAGE = 500

/**
 * Every event after an id, then each new one as it is committed.
 *
 * Ids rise in the order of commits, so "everything above the last one seen" has neither gaps nor repetitions. The ring is
 * noted before the read: an append between the read and the wait makes the wait return at once.
 */
export async function* followEvents(
  database: Database,
  wake: Wake,
  after: number,
  options: FollowOptions = {},
): AsyncGenerator<StoredEvent, void, undefined> {
  let last = after
  const over = () => wake.closed || options.signal?.aborted === true
  while (!over()) {
    const rings = wake.count
    const rows = await readPage(database, last, options.subject).catch(error => {
      if (wake.closed) return []
      throw error
    })
    for (const row of rows) {
      if (over()) return
      last = row.id
      const event = fromRow(row)
      if (event) yield event
    }
    if (rows.length === 0) await wake.wait(rings, options)
  }
}

async function readPage(database: Database, after: number, subject: string | undefined): Promise<EventRow[]> {
  const read = (from: number, count: number) => {
    let select = database.read.selectFrom('events').selectAll().where('id', '>', from)
    if (subject !== undefined) select = select.where('subject', '=', subject)
    return select.orderBy('id').limit(count).execute()
  }
  try {
    return await read(after, PAGE)
  } catch (error) {
    if (!database.isDamage(error)) throw error
    return readPastDamage(after, async from => {
      try {
        return await read(from, 1)
      } catch (again) {
        if (database.isDamage(again)) return 'damaged'
        throw again
      }
    })
  }
}
