import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import {
  type Dialect,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { AppError } from '../base/errors.ts'
import { explainSqlite } from './sqlite-errors.ts'

/** Statements kept compiled. Our queries come in a few dozen shapes; the bound is there for lists of varying length. */
const STATEMENTS_KEPT = 200

/** How long a writer waits for another process. Transactions take milliseconds, so this is far beyond any honest wait. */
export const BUSY_TIMEOUT_MS = 5000

/** One connection to a SQLite file: compiled statements are kept, errors leave it explained, and Kysely speaks through it. */
export class SqliteConnection {
  readonly #file: string
  readonly #raw: DatabaseSync
  readonly #statements = new Map<string, Compiled>()
  readonly #onFailure: (error: unknown) => void
  #began = false

  constructor(
    file: string,
    { readOnly, onFailure = () => {} }: { readOnly: boolean; onFailure?: (error: unknown) => void },
  ) {
    this.#file = file
    this.#onFailure = onFailure
    this.#raw = new DatabaseSync(file, { readOnly, timeout: BUSY_TIMEOUT_MS })
  }

  /** Runs a statement that gives no rows, and returns the id of the row it inserted. */
  run(text: string, ...parameters: SQLInputValue[]): number | bigint {
    return this.attempt(() => this.#compiled(text).statement.run(...parameters).lastInsertRowid)
  }

  /** Runs a statement and gives how many rows it changed. */
  changes(text: string, parameters: readonly SQLInputValue[]): number {
    return this.attempt(() => Number(this.#compiled(text).statement.run(...parameters).changes))
  }

  /** Runs a statement and gives its rows. */
  rows(text: string, parameters: readonly SQLInputValue[]): unknown[] {
    return this.attempt(() => rowsOf(this.#compiled(text), parameters))
  }

  /** Runs statements to their end, whatever they give. */
  script(text: string): void {
    this.attempt(() => this.#raw.exec(text))
  }

  /** Compiles the text once, then runs it for every row; returns the id of the last. */
  runEach(text: string, rows: SQLInputValue[][]): number | bigint {
    return this.attempt(() => {
      const { statement } = this.#compiled(text)
      let last: number | bigint = 0
      for (const row of rows) last = statement.run(...row).lastInsertRowid
      return last
    })
  }

  /** Runs `work` in a transaction; a throw undoes it. */
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

  /** The same for work that waits. By hand: what Kysely does around a transaction costs a quarter of a short one. */
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

  /** Runs `work` inside the open transaction so that a throw undoes `work`, whatever becomes of the transaction. */
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

  /** Plain `begin` takes the write lock at the first write, too late to wait for it: a read before would make it fail. */
  #begin(): void {
    this.run('begin immediate')
    this.#began = true
  }

  #commit(): void {
    this.run('commit')
    this.#began = false
  }

  #rollback(): void {
    this.#began = false
    if (this.#raw.isTransaction) this.run('rollback')
  }

  /**
   * On a full disk SQLite may undo the whole transaction by itself. Whoever ignores that error and writes on would then
   * write without one, so everything up to the rollback is refused.
   */
  attempt<T>(work: () => T): T {
    try {
      if (this.#began && !this.#raw.isTransaction) throw this.#undone()
      return work()
    } catch (error) {
      const explained = explainSqlite(this.#file, error)
      if (explained instanceof AppError) this.#onFailure(explained)
      throw explained
    }
  }

  #undone(): AppError {
    return new AppError('store_unusable', { file: this.#file, problem: 'an earlier failure undid this transaction' })
  }

  close(): void {
    this.#statements.clear()
    if (this.#raw.isOpen) this.#raw.close()
  }

  get dialect(): Dialect {
    return {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new SqliteDriver({ database: this.#asKyselyDatabase() }),
      createIntrospector: db => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    }
  }

  #compiled(text: string): Compiled {
    const known = this.#statements.get(text)
    if (known) return known
    const compiled = compile(this.#raw, text)
    const oldest = this.#statements.keys().next()
    if (this.#statements.size >= STATEMENTS_KEPT && !oldest.done) this.#statements.delete(oldest.value)
    this.#statements.set(text, compiled)
    return compiled
  }

  #asKyselyDatabase(): SqliteDatabase {
    return {
      close: () => this.close(),
      prepare: text => {
        const compiled = this.attempt(() => this.#compiled(text))
        return {
          reader: compiled.names.length > 0,
          all: parameters => this.attempt(() => rowsOf(compiled, parameters as SQLInputValue[])),
          run: parameters => this.attempt(() => compiled.statement.run(...(parameters as SQLInputValue[]))),
          // A statement that is being walked through cannot be shared with another walk.
          iterate: parameters => this.#raw.prepare(text).iterate(...(parameters as SQLInputValue[])),
        }
      },
    }
  }
}

interface Compiled {
  readonly statement: StatementSync
  /** Of its columns; none where it gives no rows. */
  names: string[]
}

function compile(raw: DatabaseSync, text: string): Compiled {
  const statement = raw.prepare(text)
  const names = namesOf(statement)
  if (names.length > 0) statement.setReturnArrays(true)
  return { statement, names }
}

/**
 * Rows as plain objects. Those that SQLite's binding makes have no prototype, which the engine keeps as dictionaries: to make one
 * of 32 columns takes twice as long, and to copy it twenty times.
 */
function rowsOf(compiled: Compiled, parameters: readonly SQLInputValue[]): Record<string, SQLOutputValue>[] {
  const found = compiled.statement.all(...parameters) as unknown as SQLOutputValue[][]
  // A table may have got a column since.
  if (found[0] && found[0].length !== compiled.names.length) compiled.names = namesOf(compiled.statement)
  const { names } = compiled
  return found.map(values => {
    const row: Record<string, SQLOutputValue> = {}
    for (let at = 0; at < names.length; at++) row[names[at] ?? ''] = values[at] ?? null
    return row
  })
}

function namesOf(statement: StatementSync): string[] {
  return statement.columns().map(({ name }) => name)
}
