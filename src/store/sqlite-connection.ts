import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import type { SqliteDatabase } from 'kysely'
import { AppError } from '../base/errors.ts'
import { explainSqlite } from './sqlite-errors.ts'

/** How many compiled statements are kept. Our queries have a few dozen forms; the bound is for lists of varying length. */
const STATEMENTS_KEPT = 200

/** How long a writer waits for another process. Transactions take milliseconds, so this is far longer than any normal wait. */
export const BUSY_TIMEOUT_MS = 5000

/** One connection to a SQLite file. It keeps compiled statements, translates errors, and is the driver for Kysely. */
export class SqliteConnection {
  readonly #file: string
  readonly #raw: DatabaseSync
  readonly #statements = new Map<string, Compiled>()
  readonly #onFailure: (error: unknown) => void
  #isBegun = false
  #uses = 0

  constructor(
    file: string,
    { readOnly, onFailure = () => {} }: { readOnly: boolean; onFailure?: (error: unknown) => void },
  ) {
    this.#file = file
    this.#onFailure = onFailure
    this.#raw = new DatabaseSync(file, { readOnly, timeout: BUSY_TIMEOUT_MS })
  }

  /** Rises before every statement, and so before everything that changes what others read. */
  get uses(): number {
    return this.#uses
  }

  /** Runs a statement that returns no rows, and returns the id of the row it inserted. */
  run(text: string, ...parameters: SQLInputValue[]): number | bigint {
    return this.attempt(() => this.#prepare(text).statement.run(...parameters).lastInsertRowid)
  }

  /** Runs a statement and returns how many rows it changed. */
  changes(text: string, parameters: readonly SQLInputValue[]): number {
    return this.attempt(() => Number(this.#prepare(text).statement.run(...parameters).changes))
  }

  /** Runs a statement and returns its rows. */
  rows(text: string, parameters: readonly SQLInputValue[]): unknown[] {
    return this.attempt(() => readRows(this.#prepare(text), parameters))
  }

  /** Runs statements to their end and ignores their results. */
  script(text: string): void {
    this.attempt(() => this.#raw.exec(text))
  }

  /** Compiles the text once, then runs it for every row; returns the id of the last. */
  runEach(text: string, rows: SQLInputValue[][]): number | bigint {
    return this.attempt(() => {
      const { statement } = this.#prepare(text)
      let last: number | bigint = 0
      for (const row of rows) last = statement.run(...row).lastInsertRowid
      return last
    })
  }

  /** Runs `work` in a transaction; a throw rolls it back. */
  alone<T>(work: () => T): T {
    this.#begin()
    try {
      const result = work()
      this.#commit()
      return result
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  /** Runs asynchronous `work` in a transaction. Not Kysely's own, whose overhead is a quarter of a short transaction. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    this.#begin()
    try {
      const result = await work()
      this.#commit()
      return result
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  /** Runs `work` inside the open transaction. A throw rolls back only `work`, whatever happens to the transaction. */
  within<T>(work: () => T): T {
    this.run('savepoint part')
    try {
      return work()
    } catch (error) {
      if (this.#raw.isTransaction) this.run('rollback to part')
      throw error
    } finally {
      if (this.#raw.isTransaction) this.run('release part')
    }
  }

  /** A plain `begin` takes the write lock at the first write. After an earlier read SQLite cannot wait for the lock and fails. */
  #begin(): void {
    this.run('begin immediate')
    this.#isBegun = true
  }

  #commit(): void {
    this.run('commit')
    this.#isBegun = false
  }

  #rollback(): void {
    this.#isBegun = false
    if (this.#raw.isTransaction) this.run('rollback')
  }

  /**
   * On a full disk SQLite may roll back the whole transaction by itself. A caller that ignores that error and continues
   * would then write without a transaction, so everything up to the rollback is refused.
   */
  attempt<T>(work: () => T): T {
    this.#uses += 1
    try {
      if (this.#isBegun && !this.#raw.isTransaction) throw this.#lostTransactionError()
      return work()
    } catch (error) {
      const explained = explainSqlite(this.#file, error)
      if (explained instanceof AppError) this.#onFailure(explained)
      throw explained
    }
  }

  #lostTransactionError(): AppError {
    return new AppError('store_unusable', { file: this.#file, problem: 'an earlier failure undid this transaction' })
  }

  close(): void {
    this.#statements.clear()
    if (this.#raw.isOpen) this.#raw.close()
  }

  #prepare(text: string): Compiled {
    const cached = this.#statements.get(text)
    if (cached) return cached
    const compiled = compile(this.#raw, text)
    const oldest = this.#statements.keys().next()
    if (this.#statements.size >= STATEMENTS_KEPT && !oldest.done) this.#statements.delete(oldest.value)
    this.#statements.set(text, compiled)
    return compiled
  }

  /** The connection as Kysely wants it. Kysely itself is not imported here: a command that reads a few rows does without it. */
  forKysely(): SqliteDatabase {
    return {
      close: () => this.close(),
      prepare: text => {
        const compiled = this.attempt(() => this.#prepare(text))
        return {
          reader: compiled.names.length > 0,
          all: parameters => this.attempt(() => readRows(compiled, parameters as SQLInputValue[])),
          run: parameters => this.attempt(() => compiled.statement.run(...(parameters as SQLInputValue[]))),
          // A statement cannot be shared by two iterations.
          iterate: parameters =>
            this.attempt(() => this.#raw.prepare(text).iterate(...(parameters as SQLInputValue[]))),
        }
      },
    }
  }
}

interface Compiled {
  readonly statement: StatementSync
  /** The column names; empty if the statement returns no rows. */
  names: string[]
}

function compile(raw: DatabaseSync, text: string): Compiled {
  const statement = raw.prepare(text)
  const names = readNames(statement)
  if (names.length > 0) statement.setReturnArrays(true)
  return { statement, names }
}

/**
 * Rows as plain objects. The objects of the SQLite binding have no prototype, so the engine stores them as dictionaries:
 * making one of 32 columns takes twice as long, and copying it twenty times as long.
 */
function readRows(compiled: Compiled, parameters: readonly SQLInputValue[]): Record<string, SQLOutputValue>[] {
  const rows = compiled.statement.all(...parameters) as unknown as SQLOutputValue[][]
  // A table may have a new column by now.
  if (rows[0] && rows[0].length !== compiled.names.length) compiled.names = readNames(compiled.statement)
  const { names } = compiled
  return rows.map(values => {
    const row: Record<string, SQLOutputValue> = {}
    for (let at = 0; at < names.length; at++) row[names[at] ?? ''] = values[at] ?? null
    return row
  })
}

function readNames(statement: StatementSync): string[] {
  return statement.columns().map(({ name }) => name)
}
