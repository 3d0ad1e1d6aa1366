import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, sql } from 'kysely'
import type { Tables } from '../tables.ts'
import type { Database, Differences, NewEventRow } from './database.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { explainSqlite, sqliteCode } from './sqlite-errors.ts'
import { APPLICATION_ID, createFile, inspectFile } from './sqlite-file.ts'

/** How long a writer waits for another process. Transactions take milliseconds, so this is far beyond any honest wait. */
const BUSY_TIMEOUT_MS = 5000

/** Opens one SQLite file with two connections: one that writes and one that reads what is committed meanwhile. */
export async function openSqlite(file: string, knownSchema: number): Promise<Database> {
  try {
    await inspectFile(file, knownSchema)
    await createFile(file)
    const writer = new SqliteConnection(file, { readOnly: false, busyTimeoutMs: BUSY_TIMEOUT_MS })
    await useWriteAheadLog(writer)
    const reader = new SqliteConnection(file, { readOnly: true, busyTimeoutMs: BUSY_TIMEOUT_MS })
    return sqliteDatabase(file, writer, reader)
  } catch (error) {
    throw explainSqlite(file, error)
  }
}

const differences: Differences = {
  columns: { integer: 'integer', real: 'real' },
  appendOnly: table =>
    ['update', 'delete'].map(
      change =>
        `create trigger ${table}_refuse_${change} before ${change} on ${table} begin select raise(abort, '${table} are append-only'); end`,
    ),
}

function sqliteDatabase(file: string, writer: SqliteConnection, reader: SqliteConnection): Database {
  const write = new Kysely<Tables>({ dialect: writer.dialect })
  const read = new Kysely<Tables>({ dialect: reader.dialect })
  const insertEvent = compileInsert(write)
  return {
    differences,
    read,
    transaction: work => write.transaction().execute(work),
    appendAlone: rows => appendAlone(writer, insertEvent, rows),
    appendWithin: (_tx, rows) => insertRows(writer, insertEvent, rows),
    readSchema: async tx => {
      const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(tx)
      return rows[0]?.user_version ?? 0
    },
    writeSchema: async (tx, schema) => {
      await sql.raw(`pragma user_version = ${schema}`).execute(tx)
      await sql.raw(`pragma application_id = ${APPLICATION_ID}`).execute(tx)
    },
    explain: thrown => explainSqlite(file, thrown),
    close: async () => {
      reader.raw.close()
      writer.raw.close()
    },
  }
}

/** The order of the columns is the order in which `insertRows` binds them. */
function compileInsert(db: Kysely<Tables>): string {
  const row = { time: 0, actor: '', schema_version: 0, subject: '', kind: '', body: '' } satisfies NewEventRow
  return db.insertInto('events').values(row).compile().sql
}

function appendAlone(writer: SqliteConnection, insertEvent: string, rows: NewEventRow[]): number {
  if (rows.length === 1) return insertRows(writer, insertEvent, rows)
  writer.statement('begin immediate').run()
  try {
    const first = insertRows(writer, insertEvent, rows)
    writer.statement('commit').run()
    return first
  } catch (error) {
    writer.rollback()
    throw error
  }
}

function insertRows(writer: SqliteConnection, insertEvent: string, rows: NewEventRow[]): number {
  const statement = writer.statement(insertEvent)
  let last = 0
  for (const row of rows) {
    const { time, actor, schema_version, subject, kind, body } = row
    last = Number(statement.run(time, actor, schema_version, subject, kind, body).lastInsertRowid)
  }
  return last - rows.length + 1
}

/**
 * Write-ahead log: readers never wait for the writer. Synchronous NORMAL: a commit survives the death of this process by
 * any cause; only a power cut may take the last few, never the file's consistency, and FULL would cost a disk flush each.
 *
 * Several processes may switch a new file at once; SQLite then says "locked" without waiting, so we wait here.
 */
async function useWriteAheadLog(writer: SqliteConnection): Promise<void> {
  const deadline = Date.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      writer.raw.exec('pragma journal_mode = wal; pragma synchronous = normal')
      return
    } catch (error) {
      if (sqliteCode(error) !== 5 || Date.now() > deadline) throw error
    }
    await sleep(5 + Math.random() * 20)
  }
}
