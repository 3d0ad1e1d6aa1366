import type { Kysely } from 'kysely'
import type { NewEvent, StoredEvent } from '../../domain/event.ts'
import type { Tables } from '../tables.ts'

/** An open transaction. */
export interface Tx {
  readonly db: Kysely<Tables>
  /** Runs a statement by its text, which is compiled once: for what happens thousands of times a second. */
  run<Row>(text: string, parameters: readonly unknown[]): Row[] | Promise<Row[]>
  /** The same for a statement that gives no rows: how many it changed. */
  change(text: string, parameters: readonly unknown[]): number | Promise<number>
  append(events: NewEvent[]): Promise<StoredEvent[]>
}
