import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from '../base/errors.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations.ts'
import { openStore } from './open.ts'
import { repairHeader } from './salvage-pages.ts'
import { type CopyResult, copyRows } from './salvage-rows.ts'
import { openSqlite } from './sqlite.ts'
import { checkIntegrity, copyAside, DATABASE_FILE_SUFFIXES, SCHEMA } from './sqlite-file.ts'

export interface RebuildResult extends CopyResult {
  /** Where the damaged file is kept. */
  kept: string
}

/**
 * Builds a new database from the readable rows of a damaged one, replaces the damaged file and keeps a copy of it. The caller
 * holds the daemon's lock. Everything is read from a copy; until the last step the original file is not touched.
 */
export async function rebuildStore(file: string, now: number): Promise<RebuildResult> {
  const kept = copyAside(file, now)
  const fresh = join(dirname(file), '.rebuilt.db')
  const work = join(dirname(kept), 'work.db')
  using _clean = { [Symbol.dispose]: () => [fresh, work].forEach(remove) }
  for (const path of [fresh, work]) remove(path)
  for (const part of DATABASE_FILE_SUFFIXES)
    if (existsSync(`${kept}${part}`)) copyFileSync(`${kept}${part}`, `${work}${part}`)
  await createDatabase(fresh, SCHEMA)
  repairHeader(work, fresh)
  foldLogIn(work)
  const schema = readSchema(work)
  // `openStore` below brings the rows of an older program up to date with the missing migrations.
  if (schema !== SCHEMA) {
    remove(fresh)
    await createDatabase(fresh, schema)
  }
  const copied = copyRows(work, fresh)
  await (await openStore({ file: fresh })).close()
  leaveLogMode(fresh)
  const problems = checkIntegrity(fresh, { thorough: true })
  if (problems.length > 0) throw new AppError('store_damaged', { file: fresh, problem: problems.join('; ') })
  // The log of the old file must be removed, because SQLite would replay it into the new file.
  for (const part of ['-wal', '-shm']) rmSync(`${file}${part}`, { force: true })
  renameSync(fresh, file)
  return { kept, ...copied }
}

function remove(path: string): void {
  for (const part of DATABASE_FILE_SUFFIXES) rmSync(`${path}${part}`, { force: true })
}

async function createDatabase(file: string, schema: number): Promise<void> {
  const database = await openSqlite(file, SCHEMA)
  try {
    await migrate(
      database,
      file,
      MIGRATIONS.filter(({ number }) => number <= schema),
    )
  } finally {
    await database.close()
  }
  leaveLogMode(file)
}

/** The newest rows may be in the log, but pages are read from the file itself. */
function foldLogIn(file: string): void {
  try {
    leaveLogMode(file)
  } catch {
    // The file is too damaged for that; only its own pages are read.
  }
}

/** Moves everything into the main file, so that one rename can put it in place. */
function leaveLogMode(file: string): void {
  const database = new DatabaseSync(file)
  try {
    database.exec('pragma journal_mode = delete')
  } finally {
    database.close()
  }
}

/** The schema number of a file, or ours if it cannot be read or is impossible. */
function readSchema(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const schema = Number(database.prepare('pragma user_version').get()?.['user_version'])
    return MIGRATIONS.some(({ number }) => number === schema) ? schema : SCHEMA
  } catch {
    return SCHEMA
  } finally {
    database.close()
  }
}
