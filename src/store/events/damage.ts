import type { EventRow } from '../tables.ts'

/** Ids are below this; doubling the step reaches it in 53 tries. */
const HIGHEST_ID = Number.MAX_SAFE_INTEGER

/** Reads the first row above an id, or says that the place where it lies is damaged. */
type ReadOne = (after: number) => Promise<EventRow[] | 'damaged'>

/**
 * The first readable row above `after` in a table of which a part is damaged; none where there is nothing readable.
 *
 * A damaged page hides a stretch of neighbouring ids. The step over it is doubled until a read succeeds, then halved back
 * to the first id from which one does, so that no readable row is skipped.
 */
export async function readPastDamage(after: number, readOne: ReadOne): Promise<EventRow[]> {
  const here = await readOne(after)
  if (here !== 'damaged') return here
  let damaged = after
  for (let step = 1; after + step < HIGHEST_ID; step *= 2) {
    const found = await readOne(after + step)
    if (found !== 'damaged') return firstBehind(damaged, after + step, found, readOne)
    damaged = after + step
  }
  return []
}

async function firstBehind(
  damaged: number,
  readable: number,
  found: EventRow[],
  readOne: ReadOne,
): Promise<EventRow[]> {
  if (readable - damaged <= 1) return found
  const middle = damaged + Math.floor((readable - damaged) / 2)
  const rows = await readOne(middle)
  return rows === 'damaged'
    ? firstBehind(middle, readable, found, readOne)
    : firstBehind(damaged, middle, rows, readOne)
}
