import { constants, copyFileSync, existsSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs'
import { mkdir, open, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError, messageOf } from '../base/errors.ts'

/** "pcc1". SQLite stores it in the file's header, so that another program's database is not taken for ours. */
export const APPLICATION_ID = 0x70636331

/**
 * The schema number that this program reads and writes: that of the newest migration. It is written here because commands look at
 * the file without loading the migrations and all that they need.
 */
export const SCHEMA = 35

/**
 * Inspects the file before SQLite may write to it: opening a database read-write can already change its bytes (journal
 * mode, a checkpoint at close), and a file that is newer than this program, or not ours, must stay as it is.
 */
export async function inspectFile(file: string, known: number): Promise<void> {
  const header = await readHeader(file)
  if (!header) return
  if (header.text !== 'SQLite format 3\0') throw foreignError(file, 'it is not a SQLite database')
  const { application, schema, changes } = existsSync(`${file}-wal`) ? readHeaderThroughLog(file) : header
  if (application === APPLICATION_ID && schema > known)
    throw new AppError('store_newer', { file, found: schema, known })
  if (application === APPLICATION_ID) return
  const isNew = application === 0 && schema === 0 && changes === 0
  if (!isNew) throw foreignError(file, 'it belongs to another program')
}

/** Creates the folder and an empty file that only their owner may read; existing ones keep their permissions. */
export async function createFile(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const handle = await open(file, 'a', 0o600)
  await handle.close()
}

/** The numbers are at fixed offsets: https://www.sqlite.org/fileformat.html#the_database_header */
async function readHeader(file: string) {
  const size = await stat(file).then(
    stats => (stats.isFile() ? stats.size : 1),
    () => 0, // the file does not exist yet, or cannot be reached; then creating it reports why
  )
  if (size === 0) return undefined
  await using handle = await open(file, 'r')
  const bytes = Buffer.alloc(100)
  await handle.read(bytes, 0, 100, 0)
  return {
    text: bytes.toString('latin1', 0, 16),
    /** Rises with every change of the schema. */
    changes: bytes.readInt32BE(40),
    /** The number of our newest migration. */
    schema: bytes.readInt32BE(60),
    application: bytes.readInt32BE(68),
  }
}

/** With a write-ahead log beside the file, the newest header may be in the log. A read-only connection never copies the log into the file. */
function readHeaderThroughLog(file: string) {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    const read = (name: string) => Number(database.prepare(`pragma ${name}`).get()?.[name])
    return { changes: read('schema_version'), schema: read('user_version'), application: read('application_id') }
  } finally {
    database.close()
  }
}

function foreignError(file: string, problem: string): AppError {
  return new AppError('store_foreign', { file, problem })
}

/** How many problems are reported; one damaged page can cause hundreds. */
const MAX_PROBLEMS = 5

/**
 * Lists the structural problems of a database file; none if it is intact or missing. `thorough` also compares every index
 * with its table. Nothing is written.
 */
export function checkIntegrity(file: string, { thorough = false } = {}): string[] {
  if (!existsSync(file)) return []
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
    const rows = database.prepare(`pragma ${thorough ? 'integrity_check' : 'quick_check'}(${MAX_PROBLEMS})`).all()
    return rows.map(row => String(Object.values(row)[0])).filter(line => line !== 'ok')
  } catch (error) {
    return [messageOf(error)]
  } finally {
    if (database?.isOpen) database.close()
  }
}

/** The database file and its companions: without the log, a file lacks the newest rows. */
export const DATABASE_FILE_SUFFIXES = ['', '-wal', '-shm'] as const

/**
 * Copies a damaged database to `damaged/<time>/` beside it, where pcc never writes again. The same file is copied only
 * once. Returns the path of the copy.
 */
export function copyAside(file: string, now: number): string {
  const folder = join(dirname(file), 'damaged')
  const existing = findCopy(file, folder)
  if (existing) return existing
  const target = join(folder, new Date(now).toISOString().replaceAll(':', '-'), basename(file))
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  // The main file is copied last, so a copy that has it is complete.
  for (const part of DATABASE_FILE_SUFFIXES.toReversed()) {
    if (!existsSync(`${file}${part}`)) continue
    copyFileSync(`${file}${part}`, `${target}${part}`, constants.COPYFILE_FICLONE)
    const { atime, mtime } = statSync(`${file}${part}`)
    utimesSync(`${target}${part}`, atime, mtime)
  }
  return target
}

function findCopy(file: string, folder: string): string | undefined {
  if (!existsSync(folder)) return undefined
  const copies = readdirSync(folder).map(name => join(folder, name, basename(file)))
  return copies.find(copy => isSame(file, copy) && isSame(`${file}-wal`, `${copy}-wal`))
}

/** Copied times are rounded to milliseconds. */
const ROUNDING_MS = 2

function isSame(first: string, second: string): boolean {
  const [a, b] = [first, second].map(path => statSync(path, { throwIfNoEntry: false }))
  // Every program that reads the file may create and remove an empty log.
  if (!a || !b) return (a ?? b)?.size === 0 || a === b
  return a.size === b.size && Math.abs(a.mtimeMs - b.mtimeMs) < ROUNDING_MS
}
