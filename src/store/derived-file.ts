import { mkdirSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { makePrivate } from '../base/files.ts'
import { sqliteCode } from './sqlite-errors.ts'
import { DATABASE_FILE_SUFFIXES } from './sqlite-file.ts'

/** How long another process is waited for. Its transactions take milliseconds. */
const BUSY_MS = 5000

/** What SQLite says where something else than the file is wrong: busy, locked, read-only, full, not to be opened, no right to it. */
const NOT_ITS_FAULT = new Set([5, 6, 8, 13, 14, 23])

export interface DerivedTables {
  /** Rises with every change of the tables or of what is written to them. */
  schema: number
  /** Four letters in the header of the file, by which it is known as ours. */
  application: number
  tables: readonly string[]
  /** What is deleted is overwritten, and no free page holds it. */
  erases?: true
}

export interface DerivedOptions {
  /** The file is on a disk that cannot be written, and is read as it is. */
  isFixed?: boolean
  /** Others write it; it is only read, and throws if it is not there or has another schema. */
  isOnlyRead?: boolean
  /** How long another process is waited for, at a standstill. */
  busyMs?: number
}

/**
 * A SQLite file whose content can be made again from something else. If a newer pcc wrote it, it stays as it is and another one
 * beside it is used; an older, damaged or foreign one is replaced. `isLost` tells that somebody removed the file: then a new one has to be opened.
 */
export class DerivedFile {
  readonly path: string
  protected readonly database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #inode: number

  constructor(wanted: string, tables: DerivedTables, { isFixed, isOnlyRead, busyMs = BUSY_MS }: DerivedOptions = {}) {
    if (!isFixed && !isOnlyRead) mkdirSync(dirname(wanted), { recursive: true, mode: 0o700 })
    const opened = isFixed
      ? { database: openFixed(wanted), path: wanted }
      : isOnlyRead
        ? { database: openToRead(wanted, tables, busyMs), path: wanted }
        : openAny(wanted, tables, busyMs)
    this.database = opened.database
    this.path = opened.path
    this.#inode = statSync(this.path).ino
  }

  get isLost(): boolean {
    return statSync(this.path, { throwIfNoEntry: false })?.ino !== this.#inode
  }

  rows<Row = Record<string, SQLOutputValue>>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[]
  }

  row<Row = Record<string, SQLOutputValue>>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined
  }

  /** Returns the rowid of an inserted row. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).lastInsertRowid)
  }

  /** All of it or nothing. Synchronous, so that no search sees a half of it. */
  transaction(work: () => void): void {
    this.database.exec('begin immediate')
    try {
      work()
      this.database.exec('commit')
    } catch (error) {
      if (this.database.isTransaction) this.database.exec('rollback')
      throw error
    }
  }

  readMeta(name: string): string | undefined {
    return this.row<{ value: string }>('select value from meta where name = ?', name)?.value
  }

  writeMeta(name: string, value: string): void {
    this.run('insert into meta values (?, ?) on conflict (name) do update set value = excluded.value', name, value)
  }

  close(): void {
    this.#statements.clear()
    if (this.database.isOpen) this.database.close()
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

function openAny(wanted: string, tables: DerivedTables, busyMs: number): { database: DatabaseSync; path: string } {
  const aside = wanted.replace(/(\.db)?$/, `-${tables.schema}.db`)
  const path = isNewer(wanted, tables) ? aside : wanted
  try {
    return { database: openOne(path, tables, busyMs), path }
  } catch (error) {
    if (NOT_ITS_FAULT.has(sqliteCode(error) ?? -1)) throw error
    removeDerivedFile(path) // damaged, or from an older version: everything in it can be made again
    return { database: openOne(path, tables, busyMs), path }
  }
}

function openToRead(path: string, known: DerivedTables, busyMs: number): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: busyMs })
  const { application, schema } = readHeader(database)
  if (application === known.application && schema === known.schema) return database
  database.close()
  throw new Error('another schema')
}

/** Without the log and the locks that SQLite would write beside it. */
function openFixed(path: string): DatabaseSync {
  return new DatabaseSync(new URL(`${pathToFileURL(path).href}?immutable=1`), { readOnly: true })
}

/** Removes such a file with its companions. */
export function removeDerivedFile(path: string): void {
  for (const suffix of DATABASE_FILE_SUFFIXES) rmSync(`${path}${suffix}`, { force: true })
}

function isNewer(path: string, known: DerivedTables): boolean {
  if (!statSync(path, { throwIfNoEntry: false })) return false
  try {
    using database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS })
    const { application, schema } = readHeader(database)
    return application === known.application && schema > known.schema
  } catch {
    return false
  }
}

function readHeader(database: DatabaseSync): { application: number; schema: number } {
  const read = (name: string) => Number(database.prepare(`pragma ${name}`).get()?.[name])
  return { application: read('application_id'), schema: read('user_version') }
}

/** Throws if the file is damaged or has another schema. */
function openOne(path: string, known: DerivedTables, busyMs: number): DatabaseSync {
  makePrivate(path)
  const database = new DatabaseSync(path, { timeout: busyMs, allowExtension: true })
  try {
    for (const pragma of [
      'page_size = 8192',
      'journal_mode = wal',
      'synchronous = normal',
      'cache_size = -8000',
      'temp_store = memory',
      `secure_delete = ${known.erases ? 'on' : 'off'}`,
    ])
      database.exec(`pragma ${pragma}`)
    database.exec('begin immediate')
    const { application, schema } = readHeader(database)
    if (schema === 0 && application === 0) createTables(database, known)
    else if (application !== known.application || schema !== known.schema) throw new Error('another schema')
    database.exec('commit')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function createTables(database: DatabaseSync, { tables, schema, application }: DerivedTables): void {
  for (const table of tables) database.exec(table)
  database.exec(`pragma user_version = ${schema}`)
  database.exec(`pragma application_id = ${application}`)
}
