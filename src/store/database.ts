import type { ColumnDataType, Kysely, RawBuilder } from 'kysely'
import type { NewEvent, StoredEvent } from '../domain/event.ts'
import type { EventRow, Tables } from './tables.ts'

/**
 * One database behind the store. Everything in which databases differ is named here; the queries above it are written
 * once, in Kysely, and ask for a difference by its name, never for a database by its own. What it throws is already
 * explained: `store_unusable` and its kin where a person can do something about it, the database's own error for a mistake of ours.
 */
export interface Database {
  readonly differences: DialectDifferences
  /** Reads committed rows only and never waits for a writer. */
  readonly read: Kysely<Tables>
  /** Runs `work` in a transaction that is alone in writing; a throw rolls it back. */
  transaction<T>(work: (tx: Kysely<Tables>) => Promise<T>): Promise<T>
  /** The hot path: stores the rows, all or none, in a transaction of their own. */
  appendAlone(rows: NewEventRow[]): number | Promise<number>
  /** The same inside the open `transaction`, again all or none, should the caller go on after a failure. */
  appendWithin(tx: Kysely<Tables>, rows: NewEventRow[]): number | Promise<number>
  /** Runs a statement by its text inside the open `transaction`; the text is compiled once. */
  runWithin(tx: Kysely<Tables>, text: string, parameters: readonly unknown[]): unknown[] | Promise<unknown[]>
  /** The same for a statement that gives no rows: how many it changed. */
  changeWithin(tx: Kysely<Tables>, text: string, parameters: readonly unknown[]): number | Promise<number>
  /** Number of the newest migration the data went through; 0 for a new database. */
  readSchema(tx: Kysely<Tables>): Promise<number>
  writeSchema(tx: Kysely<Tables>, schema: number): Promise<void>
  /** Whether a read failed because a part of the data is damaged, so that another part may still be readable. */
  isDamage(thrown: unknown): boolean
  /** Bytes that hold something: what was deleted and can be filled again is not counted. */
  usedBytes(): number | Promise<number>
  /** Gives a part of what is no longer used back to the disk, where the database can. */
  giveBack(): void | Promise<void>
  close(): Promise<void>
}

/** Both appends return the id of the first row; the others follow by one. Ids rise in the order of commits, without a gap. */
export type NewEventRow = Omit<EventRow, 'id'>

export interface DialectDifferences {
  readonly columns: {
    /** A whole number that holds milliseconds since the epoch. */
    readonly integer: ColumnDataType
    readonly real: ColumnDataType
  }
  readonly json: JsonDifferences
  /** Statements that make the database itself refuse to change rows of a table, or to delete one whose subject is not in `pruned`. */
  appendOnly(table: string, pruned: string): string[]
  /** Statements that make the rows of a table be found by their words; the database keeps the index itself. */
  wordIndex(index: WordIndex): string[]
  /** The rows that words lead to, as a table of their keys and a `rank`, the lowest the best. */
  foundByWords(index: WordIndex, words: readonly string[], need: 'all' | 'any'): RawBuilder<unknown>
}

/** Which rows are found by which words. */
export interface WordIndex {
  name: string
  table: string
  keys: readonly string[]
  columns: readonly string[]
  /** Only rows in which this column is filled, which happens once. */
  once: string
}

/** Expressions that make JSON text of columns. */
export interface JsonDifferences {
  object(fields: Record<string, string>): string
  /** A list of one column of some rows, `from` being a table and a condition. */
  list(column: string, from: string): string
  /** Of a text with words, a space before and behind each. */
  words(column: string): string
  /** Of a text with lines that hold no control characters. */
  lines(column: string): string
  /** Of a text that is JSON already, or null. */
  parsed(column: string): string
}

/** An open transaction. */
export interface Tx {
  readonly db: Kysely<Tables>
  /** Runs a statement by its text, which is compiled once: for what happens thousands of times a second. */
  run<Row>(text: string, parameters: readonly unknown[]): Row[] | Promise<Row[]>
  /** The same for a statement that gives no rows: how many it changed. */
  change(text: string, parameters: readonly unknown[]): number | Promise<number>
  append(events: NewEvent[]): Promise<StoredEvent[]>
}
