import type { DatabaseSync } from 'node:sqlite'
import { fullDisk } from '../../base/full-disk.ts'

/** As many pages as there can be. */
const NO_CAP = 4_294_967_294

/** Lets a database grow no further while its disk is to be taken for full: SQLite then fails as it does on a disk that is. */
export function capPages(raw: DatabaseSync): void {
  const isFull = fullDisk()
  // A cap below the size that it has is the size that it has.
  if (isFull !== undefined) raw.exec(`pragma max_page_count = ${isFull ? 1 : NO_CAP}`)
}
