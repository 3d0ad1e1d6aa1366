import { AppError } from '../../base/errors.ts'
import type { NewEventRow } from '../database/database.ts'
import type { WriteLock } from '../write-lock.ts'

interface Waiting {
  rows: NewEventRow[]
  resolve(first: number): void
  reject(reason: unknown): void
}

/**
 * Appends that arrive in the same turn of the event loop, or while another writer is busy, become one transaction: a
 * commit costs as much as many rows do. Order is kept, and each promise settles after the commit that holds its rows.
 */
export class GroupCommit {
  readonly #lock: WriteLock
  readonly #write: (rows: NewEventRow[]) => number | Promise<number>
  #waiting: Waiting[] = []
  #planned = false

  constructor(lock: WriteLock, write: (rows: NewEventRow[]) => number | Promise<number>) {
    this.#lock = lock
    this.#write = write
  }

  get waits(): boolean {
    return this.#waiting.length > 0
  }

  /** Stores the rows and gives the id of the first. */
  append(rows: NewEventRow[]): Promise<number> {
    this.#lock.refuseInside()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ rows, resolve, reject })
      if (this.#planned) return
      this.#planned = true
      setImmediate(() => this.flush())
    })
  }

  /** Writes what waits and resolves when nothing does; failures go to the appends they belong to. */
  flush(): Promise<void> {
    return this.#lock.run(async () => {
      const group = this.#waiting
      this.#waiting = []
      this.#planned = false
      if (group.length > 0) await this.#commit(group)
    })
  }

  async #commit(group: Waiting[]): Promise<void> {
    try {
      let first = await this.#write(group.length === 1 && group[0] ? group[0].rows : group.flatMap(one => one.rows))
      for (const one of group) {
        one.resolve(first)
        first += one.rows.length
      }
    } catch (error) {
      // What the database cannot take now fails for all; a row that is wrong in itself must not take its neighbours along.
      if (group.length > 1 && !(error instanceof AppError)) for (const one of group) await this.#commit([one])
      else for (const one of group) one.reject(error)
    }
  }
}
