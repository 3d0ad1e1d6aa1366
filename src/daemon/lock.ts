import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { AppPaths } from '../base/app-paths.ts'
import { AppError, messageOf } from '../base/errors.ts'
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
 * One daemon per data directory. The holder is a row in a tiny database, so looking and taking are one transaction and of
 * any number of starters exactly one wins. The row of a dead holder (pid and start time together: pids come round again)
 * counts as none, so a crash or a reboot needs no cleaning up.
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
    throw explained(file, error)
  }
  return {
    holder,
    release: () => release(db, bootId),
    [Symbol.asyncDispose]: async () => release(db, bootId),
  }
}

/** Who holds the lock, by its row alone; nobody where that cannot be read. */
export function readLockHolder(paths: AppPaths): Holder | undefined {
  try {
    const db = new DatabaseSync(lockFile(paths), { readOnly: true, timeout: WAIT_MS })
    try {
      return readHolder(db)
    } finally {
      db.close()
    }
  } catch {
    return undefined // there is none yet
  }
}

/** Beside the database: whoever names the same data by another home, or through a link, meets the same lock. */
function lockFile({ data }: AppPaths): string {
  return join(data, 'lock.db')
}

/**
 * Whether the holder lives is looked up outside of any transaction; the place is then taken only if the row is still the one
 * that was looked at. Whoever comes second finds another row and looks again.
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

/** A full disk, or one that may not be written to, is told as what it is: it is not the lock that is to be mended. */
function explained(file: string, error: unknown): AppError {
  const told = explainSqlite(file, error)
  if (told instanceof AppError && (told === error || told.code === 'store_unusable')) return told
  const problem = `the lock ${file} cannot be taken: ${messageOf(error)}`
  return new AppError('daemon_unreachable', { home: dirname(file), problem }, error)
}

/** False when the row is no longer `expected`: somebody else was faster. */
function replace(db: DatabaseSync, expected: Holder | undefined, holder: Holder): boolean {
  db.exec('begin immediate')
  try {
    const same = readHolder(db)?.boot_id === expected?.boot_id
    if (same) {
      const put = db.prepare('insert or replace into holder (one, pid, start_time, boot_id) values (1, ?, ?, ?)')
      put.run(holder.pid, holder.start_time, holder.boot_id)
    }
    db.exec('commit')
    return same
  } catch (error) {
    // On a full disk SQLite has undone it by itself, and what it said about the disk must not be lost.
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
    db = new DatabaseSync(file, { timeout: WAIT_MS })
    db.exec(
      'create table if not exists holder (one integer primary key check (one = 1), pid integer not null, start_time text not null, boot_id text not null)',
    )
    return db
  } catch (error) {
    db?.close()
    throw explained(file, error)
  }
}

/** Twenty starters on a busy machine each hold it for a few milliseconds. */
const WAIT_MS = 10_000

function release(db: DatabaseSync, bootId: string): void {
  if (!db.isOpen) return
  try {
    db.prepare('delete from holder where boot_id = ?').run(bootId)
  } catch {
    // The disk is full: the row stays, and that of a dead process counts as none.
  }
  db.close()
}
