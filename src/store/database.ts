import type { ColumnDataType, Kysely, RawBuilder } from 'kysely'
import type { NewEvent, StoredEvent } from '../domain/event.ts'
import type { EventRow, Tables } from './tables.ts'

/**
 * One database behind the store. Everything in which databases differ is declared here. The queries above it are written
 * once, in Kysely, and use these differences; they never ask which database it is. Errors are already translated:
 * `store_unusable` and similar codes if a person can do something about it, the database's own error for a mistake of ours.
 */
export interface Database {
  readonly differences: DialectDifferences
  /** Reads committed rows only and never waits for a writer. */
  readonly read: Kysely<Tables>
  /** Reads rows by the text of a statement, which is compiled once: for reads that happen thousands of times a second. */
  readRows(text: string, parameters: readonly unknown[]): unknown[] | Promise<unknown[]>
  /** A number that rises before anything that this process changes can be read. */
  edition(): number
  /** Runs `work` in a transaction that is the only writer; a throw rolls it back. */
  transaction<T>(work: (tx: Kysely<Tables>) => Promise<T>): Promise<T>
  /** The hot path: stores all rows or none, in a transaction of their own. */
  appendAlone(rows: NewEventRow[]): number | Promise<number>
  /** Stores all rows or none inside the open `transaction`, in case the caller continues after a failure. */
  appendWithin(tx: Kysely<Tables>, rows: NewEventRow[]): number | Promise<number>
  /** Runs a statement by its text inside the open `transaction`; the text is compiled once. */
  runWithin(tx: Kysely<Tables>, text: string, parameters: readonly unknown[]): unknown[] | Promise<unknown[]>
  /** Runs a statement that returns no rows, and returns how many it changed. */
  changeWithin(tx: Kysely<Tables>, text: string, parameters: readonly unknown[]): number | Promise<number>
  /** The number of the newest migration of the data; 0 for a new database. */
  readSchema(tx: Kysely<Tables>): Promise<number>
  writeSchema(tx: Kysely<Tables>, schema: number): Promise<void>
  /** Whether a read failed because a part of the data is damaged, so that another part may still be readable. */
  isDamage(thrown: unknown): boolean
  /** The bytes in use. Free space that can be filled again is not counted. */
  usedBytes(): number | Promise<number>
  /** Returns a part of the unused space to the disk, if the database can. */
  giveBack(): void | Promise<void>
  close(): Promise<void>
}

/** Both appends return the id of the first row, and the others follow one by one. Ids rise in the order of commits, without a gap. */
export type NewEventRow = Omit<EventRow, 'id'>

export interface DialectDifferences {
  readonly columns: {
    /** An integer type large enough for milliseconds since the epoch. */
    readonly integer: ColumnDataType
    readonly real: ColumnDataType
  }
  readonly json: JsonDifferences
  /**
   * Statements that make the database refuse to change rows of a table, and to delete rows: any, or those whose subject is not in
   * `pruned`.
   */
  appendOnly(table: string, pruned?: string): string[]
  /** Statements that let `row_counts` hold how many rows of a table have each value of a column; rows without one are not counted. */
  countRows(counting: { table: string; column: string; counted: string }): string[]
  /** Statements that create a full-text index, which the database keeps up to date. */
  wordIndex(index: WordIndex): string[]
  /** The rows that match the words, as a table of their keys and a `rank`; the lowest rank is the best match. */
  foundByWords(index: WordIndex, words: readonly string[], need: 'all' | 'any'): RawBuilder<unknown>
}

/** A full-text index: which columns of which rows are searched. */
export interface WordIndex {
  name: string
  table: string
  keys: readonly string[]
  columns: readonly string[]
  /** Only rows in which this column is set are indexed; it is set once. */
  once: string
}

/** SQL expressions that turn columns into JSON text. */
export interface JsonDifferences {
  object(fields: Record<string, string>): string
  /** A JSON list of one column of some rows; `from` is a table with a condition. */
  list(column: string, from: string): string
  /** A JSON list from a text of words with a space before and after each. */
  words(column: string): string
  /** A JSON list from the lines of a text without other control characters. */
  lines(column: string): string
  /** The value of a text that is already JSON, or null. */
  parsed(column: string): string
  /** The texts of all rows as bytes, in the order of the rows, with a comma and a line break between them; null if there is no row. */
  joined(column: string): string
}

/** An open transaction. */
export interface Tx {
  readonly db: Kysely<Tables>
  /** Runs a statement by its text, which is compiled once: for statements that run thousands of times a second. */
  run<Row>(text: string, parameters: readonly unknown[]): Row[] | Promise<Row[]>
  /** Runs a statement that returns no rows, and returns how many it changed. */
  change(text: string, parameters: readonly unknown[]): number | Promise<number>
  append(events: NewEvent[]): Promise<StoredEvent[]>
}
