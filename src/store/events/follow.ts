import type { StoredEvent } from '../../domain/event.ts'
import type { Database } from '../database/database.ts'
import type { FollowOptions } from '../store.ts'
import type { EventRow } from '../tables.ts'
import { readPastDamage } from './damage.ts'
import { fromRow } from './event-row.ts'
import type { Wake } from './wake.ts'

/** Rows fetched at once: few enough that a slow reader holds little memory. */
const PAGE = 500

export interface Followed {
  database: Database
  wake: Wake
  pages: SharedPages
}

/**
 * Every event after an id, then each new one as it is committed.
 *
 * Ids rise in the order of commits, so "everything above the last one seen" has neither gaps nor repetitions. The ring is
 * noted before the read: an append between the read and the wait makes the wait return at once, and a page that is not full
 * was the last one until then.
 */
export async function* followEvents(
  { database, wake, pages }: Followed,
  after: number,
  options: FollowOptions = {},
): AsyncGenerator<StoredEvent, void, undefined> {
  let last = after
  const over = () => wake.closed || options.signal?.aborted === true
  while (!over()) {
    const rings = wake.count
    const read = (from: number) => readPage(database, from, options.subject)
    const { rows, isLast } = await (options.subject === undefined ? pages.at(rings, last, read) : read(last)).catch(
      error => {
        if (wake.closed) return NOTHING
        throw error
      },
    )
    for (const row of rows) {
      if (over()) return
      last = row.id
      const event = fromRow(row)
      if (event) yield event
    }
    if (isLast) await wake.wait(rings, options)
  }
}

/** The newest page, for all who stand at the same place: every one of them is woken by the same append. */
export class SharedPages {
  #newest: { rings: number; after: number; page: Promise<Page> } | undefined

  /** What follows an id, as of a ring: read once, unless somebody stands elsewhere. */
  at(rings: number, after: number, read: (after: number) => Promise<Page>): Promise<Page> {
    if (this.#newest?.rings === rings && this.#newest.after === after) return this.#newest.page
    const newest = { rings, after, page: read(after) }
    this.#newest = newest
    // A failure is each one's own to meet, and a long page is nothing to keep.
    const forget = () => {
      if (this.#newest === newest) this.#newest = undefined
    }
    newest.page.then(({ rows }) => rows.length > KEPT_ROWS && forget(), forget)
    return newest.page
  }
}

const KEPT_ROWS = 20

interface Page {
  rows: EventRow[]
  /** Nothing came after it when it was read. */
  isLast: boolean
}

const NOTHING: Page = { rows: [], isLast: true }

async function readPage(database: Database, after: number, subject: string | undefined): Promise<Page> {
  const read = (from: number, count: number) => {
    let select = database.read.selectFrom('events').selectAll().where('id', '>', from)
    if (subject !== undefined) select = select.where('subject', '=', subject)
    return select.orderBy('id').limit(count).execute()
  }
  try {
    const rows = await read(after, PAGE)
    return { rows, isLast: rows.length < PAGE }
  } catch (error) {
    if (!database.isDamage(error)) throw error
    const rows = await readPastDamage(after, async from => {
      try {
        return await read(from, 1)
      } catch (again) {
        if (database.isDamage(again)) return 'damaged'
        throw again
      }
    })
    // Only as far as the next damaged part.
    return { rows, isLast: rows.length === 0 }
  }
}
