import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import {
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'

/** Statements kept compiled. Our queries come in a few dozen shapes; the bound is there for lists of varying length. */
const STATEMENTS_KEPT = 200

/** One connection to a SQLite file: compiled statements are kept, and Kysely can speak through it. */
export class SqliteConnection {
  readonly raw: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(file: string, options: { readOnly: boolean; busyTimeoutMs: number }) {
    this.raw = new DatabaseSync(file, { readOnly: options.readOnly, timeout: options.busyTimeoutMs })
  }

  /** The compiled statement of this text, compiled at most once while it stays among the most recent. */
  statement(text: string): StatementSync {
    const known = this.#statements.get(text)
    if (known) return known
    const statement = this.raw.prepare(text)
    const oldest = this.#statements.keys().next()
    if (this.#statements.size >= STATEMENTS_KEPT && !oldest.done) this.#statements.delete(oldest.value)
    this.#statements.set(text, statement)
    return statement
  }

  /** Undoes the open transaction. On a full disk SQLite may already have done so, and a second rollback would be an error. */
  rollback(): void {
    if (this.raw.isTransaction) this.raw.exec('rollback')
  }

  get dialect(): Dialect {
    return {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new ConnectionDriver(this),
      createIntrospector: db => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    }
  }
}

/** Kysely's own driver, with the two differences that writers of one file need. */
class ConnectionDriver extends SqliteDriver {
  readonly #connection: SqliteConnection

  constructor(connection: SqliteConnection) {
    super({ database: asKyselyDatabase(connection) })
    this.#connection = connection
  }

  /** `begin` alone takes the write lock at the first write, too late to wait for it: a read before would make it fail. */
  override async beginTransaction(_connection: DatabaseConnection): Promise<void> {
    this.#connection.raw.exec('begin immediate')
  }

  override async rollbackTransaction(_connection: DatabaseConnection): Promise<void> {
    this.#connection.rollback()
  }
}

function asKyselyDatabase(connection: SqliteConnection): SqliteDatabase {
  return {
    close: () => connection.raw.close(),
    prepare: text => {
      const statement = connection.statement(text)
      return {
        reader: statement.columns().length > 0,
        all: parameters => statement.all(...(parameters as SQLInputValue[])),
        run: parameters => statement.run(...(parameters as SQLInputValue[])),
        // A statement that is being walked through cannot be shared with another walk.
        iterate: parameters => connection.raw.prepare(text).iterate(...(parameters as SQLInputValue[])),
      }
    },
  }
}
