import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from '../base/errors.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS, SCHEMA } from './migrations.ts'
import { openStore } from './open.ts'
import { repairHeader } from './salvage-pages.ts'
import { type CopyResult, copyRows } from './salvage-rows.ts'
import { openSqlite } from './sqlite.ts'
import { checkIntegrity, copyAside, DATABASE_FILE_SUFFIXES } from './sqlite-file.ts'

export interface RebuildResult extends CopyResult {
  /** Where the damaged file is kept. */
  kept: string
}

/**
 * Makes a new database of what can still be read of a damaged one, puts it in its place and keeps the damaged one. The caller
 * holds the daemon's lock. Everything is read from a copy; until the last step nothing of the person's is touched.
 */
export async function rebuildStore(file: string, now: number): Promise<RebuildResult> {
  const kept = copyAside(file, now)
  const fresh = join(dirname(file), '.rebuilt.db')
  const work = join(dirname(kept), 'work.db')
  using _clean = { [Symbol.dispose]: () => [fresh, work].forEach(remove) }
  for (const path of [fresh, work]) remove(path)
  for (const part of DATABASE_FILE_SUFFIXES)
    if (existsSync(`${kept}${part}`)) copyFileSync(`${kept}${part}`, `${work}${part}`)
  await makeFresh(fresh, SCHEMA)
  repairHeader(work, fresh)
  foldLogIn(work)
  const schema = schemaOf(work)
  // Rows of an older program are brought up to date by the migrations that it has not seen.
  if (schema !== SCHEMA) {
    remove(fresh)
    await makeFresh(fresh, schema)
  }
  const copied = copyRows(work, fresh)
  await (await openStore({ file: fresh })).close()
  leaveLogMode(fresh)
  const problems = checkIntegrity(fresh, { thorough: true })
  if (problems.length > 0) throw new AppError('store_damaged', { file: fresh, problem: problems.join('; ') })
  // A log of the old file must not meet the new one: it would be played into it.
  for (const part of ['-wal', '-shm']) rmSync(`${file}${part}`, { force: true })
  renameSync(fresh, file)
  return { kept, ...copied }
}

function remove(path: string): void {
  for (const part of DATABASE_FILE_SUFFIXES) rmSync(`${path}${part}`, { force: true })
}

async function makeFresh(file: string, schema: number): Promise<void> {
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

/** The newest rows may lie in the log; pages are looked at in the file itself. */
function foldLogIn(file: string): void {
  try {
    leaveLogMode(file)
  } catch {
    // Too damaged for that: what is in the file is read.
  }
}

/** Everything is in the file then: it comes into its place by one rename. */
function leaveLogMode(file: string): void {
  const database = new DatabaseSync(file)
  try {
    database.exec('pragma journal_mode = delete')
  } finally {
    database.close()
  }
}

/** The number of its newest migration, or ours where it cannot be read or cannot be true. */
function schemaOf(file: string): number {
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
