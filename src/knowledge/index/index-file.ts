import { mkdirSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { makePrivate } from '../../base/files.ts'
import { DATABASE_FILE_SUFFIXES } from '../../store/sqlite-file.ts'

/** Rises with every change of the tables or of what is written to them. An older index is made anew: everything in it can be. */
export const INDEX_SCHEMA = 2

/** "pcci": the file is an index of ours. */
const APPLICATION_ID = 0x70636369

/** The words are tokens already; `=` begins the exact name of a definition, `+` a word that is frequent in its row. */
const TOKENIZE = `tokenize = "ascii tokenchars '=+'"`
const WORDS = `fts5(words, content = '', contentless_delete = 1, detail = none, ${TOKENIZE})`

const TABLES = [
  'create table meta (name text primary key, value text not null) without rowid',
  /** Every path that is in the index or in the history; `changed` is the number of the last commit that changed it. */
  'create table names (id integer primary key, path text not null unique, changed integer not null default 0)',
  /** The files of the index have the id of their name. `key` is the blob hash of what the tables hold; empty if that is uncertain. */
  `create table files (id integer primary key, path text not null, key text not null, generated integer not null, problem text,
     first_chunk integer not null, chunks integer not null)`,
  'create index files_by_chunk on files (first_chunk)',
  /** The syntax of a file, packed (syntax-rows.ts). */
  'create table syntax (id integer primary key, packed blob not null)',
  /** A commit's number counts from the oldest that is known. */
  'create table commits (id integer primary key, hash blob not null)',
  'create table changes (name_id integer not null, commit_id integer not null, primary key (name_id, commit_id)) without rowid',
  'create index changes_by_commit on changes (commit_id)',
  /** The last words of a file's imports. */
  `create virtual table imports using ${WORDS}`,
  /** Embedded texts by their hash; the table of their vectors is made when their size is known (vectors.ts). */
  'create table vector_texts (id integer primary key, hash blob not null unique)',
  'create table chunk_vectors (chunk_id integer primary key, file_id integer not null, vector_id integer not null)',
  'create index chunk_vectors_by_file on chunk_vectors (file_id)',
  'create index chunk_vectors_by_vector on chunk_vectors (vector_id)',
  `create virtual table body using ${WORDS}`,
  `create virtual table chunk using ${WORDS}`,
  `create virtual table path using ${WORDS}`,
  `create virtual table definition using ${WORDS}`,
  `create virtual table history using ${WORDS}`,
  `create virtual table body_words using fts5vocab('body', 'row')`,
]

/** How long another process is waited for. Its transactions take milliseconds. */
const BUSY_MS = 5000

/**
 * The SQLite file of one index. If a newer pcc wrote it, it stays as it is and another one beside it is used; an older, damaged or
 * foreign one is replaced. `isLost` tells that somebody removed the file: then a new one has to be opened.
 */
export class IndexFile {
  readonly path: string
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #inode: number
  readonly #extensions = new Set<string>()

  constructor(wanted: string) {
    mkdirSync(dirname(wanted), { recursive: true, mode: 0o700 })
    const opened = openAny(wanted)
    this.#database = opened.database
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
    this.#database.exec('begin immediate')
    try {
      work()
      this.#database.exec('commit')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback')
      throw error
    }
  }

  readMeta(name: string): string | undefined {
    return this.row<{ value: string }>('select value from meta where name = ?', name)?.value
  }

  writeMeta(name: string, value: string): void {
    this.run('insert into meta values (?, ?) on conflict (name) do update set value = excluded.value', name, value)
  }

  /** Loads native code into the connection, once. */
  loadExtension(path: string): void {
    if (this.#extensions.has(path)) return
    this.#database.enableLoadExtension(true)
    try {
      this.#database.loadExtension(path)
    } finally {
      this.#database.enableLoadExtension(false)
    }
    this.#extensions.add(path)
  }

  /** Makes the tables of words, and the file, as small as they can be. Takes a second for 50 MB of source. */
  mergeWords(): void {
    for (const table of ['body', 'chunk', 'path', 'definition'])
      this.run(`insert into ${table} (${table}) values ('optimize')`)
    this.#database.exec('vacuum')
    this.#database.exec('pragma wal_checkpoint(truncate)')
  }

  close(): void {
    this.#statements.clear()
    if (this.#database.isOpen) this.#database.close()
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

function openAny(wanted: string): { database: DatabaseSync; path: string } {
  const aside = wanted.replace(/(\.db)?$/, `-${INDEX_SCHEMA}.db`)
  const path = isNewer(wanted) ? aside : wanted
  try {
    return { database: openOne(path), path }
  } catch {
    removeIndexFile(path) // damaged, or from an older version: everything in it can be made again
    return { database: openOne(path), path }
  }
}

/** Removes an index with its companions. */
export function removeIndexFile(path: string): void {
  for (const suffix of DATABASE_FILE_SUFFIXES) rmSync(`${path}${suffix}`, { force: true })
}

function isNewer(path: string): boolean {
  if (!statSync(path, { throwIfNoEntry: false })) return false
  try {
    using database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS })
    const { application, schema } = readHeader(database)
    return application === APPLICATION_ID && schema > INDEX_SCHEMA
  } catch {
    return false
  }
}

function readHeader(database: DatabaseSync): { application: number; schema: number } {
  const read = (name: string) => Number(database.prepare(`pragma ${name}`).get()?.[name])
  return { application: read('application_id'), schema: read('user_version') }
}

/** Throws if the file is damaged or has another schema. */
function openOne(path: string): DatabaseSync {
  makePrivate(path)
  const database = new DatabaseSync(path, { timeout: BUSY_MS, allowExtension: true })
  try {
    for (const pragma of [
      'page_size = 8192',
      'journal_mode = wal',
      'synchronous = normal',
      'cache_size = -8000',
      'temp_store = memory',
    ])
      database.exec(`pragma ${pragma}`)
    database.exec('begin immediate')
    const { application, schema } = readHeader(database)
    if (schema === 0 && application === 0) createTables(database)
    else if (application !== APPLICATION_ID || schema !== INDEX_SCHEMA) throw new Error('another schema')
    database.exec('commit')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function createTables(database: DatabaseSync): void {
  for (const table of TABLES) database.exec(table)
  database.exec(`pragma user_version = ${INDEX_SCHEMA}`)
  database.exec(`pragma application_id = ${APPLICATION_ID}`)
}
