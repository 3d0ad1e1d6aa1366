import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { AppPaths } from '../base/app-paths.ts'
import { AppError, messageOf } from '../base/errors.ts'
import { makePrivate } from '../base/files.ts'
import { isAlive, startTimeOf } from '../base/process/process-table.ts'
import { explainSqlite } from '../store/sqlite-errors.ts'

export interface Holder {
  pid: number
  start_time: string
  boot_id: string
}

export interface Lock extends AsyncDisposable {
  holder: Holder
  release(): void
}

/**
 * One daemon per data directory. The holder is a row in a tiny database, so checking and taking happen in one transaction and
 * exactly one of any number of starters wins. The row of a dead process counts as no holder, so a crash or a reboot needs no
 * cleanup. A process is identified by pid and start time together, because pids are reused.
 */
export async function takeLock(paths: AppPaths, bootId: string): Promise<Lock> {
  const file = lockFile(paths)
  const db = openLockFile(file)
  const startTime = await startTimeOf(process.pid)
  if (startTime === undefined) throw new AppError('internal', { problem: 'cannot read the start time of this process' })
  const holder: Holder = { pid: process.pid, start_time: startTime, boot_id: bootId }
  try {
    await take(db, holder, paths)
  } catch (error) {
    db.close()
    throw explainLockError(file, error)
  }
  return {
    holder,
    release: () => release(db, bootId),
    [Symbol.asyncDispose]: async () => release(db, bootId),
  }
}

/** The holder as the row names it, dead or alive; undefined if the row cannot be read. */
export function readLockHolder(paths: AppPaths): Holder | undefined {
  try {
    const db = new DatabaseSync(lockFile(paths), { readOnly: true, timeout: WAIT_MS })
    try {
      return readHolder(db)
    } finally {
      db.close()
    }
  } catch {
    return undefined // there is no lock file yet
  }
}

/** The lock is beside the database: another home, or a link, that leads to the same data finds the same lock. */
function lockFile({ data }: AppPaths): string {
  return join(data, 'lock.db')
}

/**
 * Checks outside of any transaction whether the holder is alive, then takes the lock only if the row is still the one that was
 * checked. A starter that comes second finds another row and checks again.
 */
async function take(db: DatabaseSync, holder: Holder, paths: AppPaths): Promise<void> {
  for (;;) {
    const found = readHolder(db)
    if (found && (await isAlive({ pid: found.pid, startTime: found.start_time }))) {
      throw new AppError('daemon_running', { home: paths.home, pid: found.pid })
    }
    if (replace(db, found, holder)) return
  }
}

/** A full or read-only disk is reported as such: nothing is wrong with the lock itself. */
function explainLockError(file: string, error: unknown): AppError {
  const explained = explainSqlite(file, error)
  if (explained instanceof AppError && (explained === error || explained.code === 'store_unusable')) return explained
  const problem = `the lock ${file} cannot be taken: ${messageOf(error)}`
  return new AppError('daemon_unreachable', { home: dirname(file), problem }, error)
}

/** Returns false if the row is no longer `expected`: another starter was faster. */
function replace(db: DatabaseSync, expected: Holder | undefined, holder: Holder): boolean {
  db.exec('begin immediate')
  try {
    const isUnchanged = readHolder(db)?.boot_id === expected?.boot_id
    if (isUnchanged) {
      const put = db.prepare('insert or replace into holder (one, pid, start_time, boot_id) values (1, ?, ?, ?)')
      put.run(holder.pid, holder.start_time, holder.boot_id)
    }
    db.exec('commit')
    return isUnchanged
  } catch (error) {
    // On a full disk SQLite has rolled back by itself; a second rollback would throw and hide the error about the disk.
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}

function readHolder(db: DatabaseSync): Holder | undefined {
  return db.prepare('select pid, start_time, boot_id from holder').get() as unknown as Holder | undefined
}

function openLockFile(file: string): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    makePrivate(file)
    db = new DatabaseSync(file, { timeout: WAIT_MS })
    db.exec(
      'create table if not exists holder (one integer primary key check (one = 1), pid integer not null, start_time text not null, boot_id text not null)',
    )
    return db
  } catch (error) {
    db?.close()
    throw explainLockError(file, error)
  }
}

/** Enough for twenty starters on a busy machine, each of which holds the database for a few milliseconds. */
const WAIT_MS = 10_000

function release(db: DatabaseSync, bootId: string): void {
  if (!db.isOpen) return
  try {
    db.prepare('delete from holder where boot_id = ?').run(bootId)
  } catch {
    // The disk is full: the row stays, but the row of a dead process counts as no holder.
  }
  db.close()
}
