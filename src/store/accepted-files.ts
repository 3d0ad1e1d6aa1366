import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Kysely } from 'kysely'
import { type AcceptedFile, applyChange, isAccepted, type OwnFileChange } from '../base/accepted-file.ts'
import { type AppPaths, appPathsFor } from '../base/app-paths.ts'
import { AppError, messageOf } from '../base/errors.ts'
import type { Migration } from './migrate.ts'
import type { AcceptedFileStore } from './store.ts'
import type { Tables } from './tables.ts'
import type { Writer } from './writer.ts'

/** The content of the person's own files that counts. */
export const acceptedFiles: Migration = {
  number: 25,
  name: 'accepted files',
  async up(db) {
    await db.schema
      .createTable('accepted_files')
      .addColumn('path', 'text', column => column.notNull().primaryKey())
      .addColumn('content', 'text', column => column.notNull())
      .addColumn('next', 'text')
      .execute()
  },
}

/** Opens the table of accepted contents. */
export function openAcceptedFileStore(read: Kysely<Tables>, writer: Writer): AcceptedFileStore {
  return {
    list: () => read.selectFrom('accepted_files').selectAll().orderBy('path').execute(),
    begin: file =>
      writer.transaction(async ({ db }) => {
        await db
          .insertInto('accepted_files')
          .values(file)
          .onConflict(known => known.column('path').doNothing())
          .execute()
      }),
    accept: change =>
      writer.transaction(async ({ db }) => {
        const known = await db
          .selectFrom('accepted_files')
          .selectAll()
          .where('path', '=', change.path)
          .executeTakeFirst()
        if (!known) return true // it is accepted as it is when it is used for the first time
        const changed = applyChange(known, change)
        if (!changed) return false
        await db.updateTable('accepted_files').set(changed).where('path', '=', change.path).execute()
        return true
      }),
  }
}

/**
 * The accepted contents, read without a daemon. Empty before the first start, and if the file cannot be read: whoever decides with
 * them is a daemon, which reads them through its store.
 */
export function readAcceptedFiles({ home, database }: Pick<AppPaths, 'home' | 'database'>): AcceptedFile[] {
  const own = readRows(database)
  // `data.directory` is a setting too: a change of it must not lead to a database in which nothing is accepted yet.
  const usual = appPathsFor({ env: { PCC_HOME: home } }).database
  return own.length > 0 || usual === database ? own : readRows(usual)
}

/** The content of a file that is in force, found without a daemon. */
export function contentInForce(paths: Pick<AppPaths, 'home' | 'database'>, path: string, onDisk: string): string {
  const file = readAcceptedFiles(paths).find(known => known.path === path)
  return !file || isAccepted(file, onDisk) ? onDisk : file.content
}

function readRows(database: string): AcceptedFile[] {
  if (!existsSync(database)) return []
  try {
    using db = new DatabaseSync(database, { readOnly: true, timeout: BUSY_MS })
    return db.prepare('select path, content, next from accepted_files').all() as unknown as AcceptedFile[]
  } catch {
    return []
  }
}

/** Records a change while no daemon runs; false if it is based on content that does not count. */
export function acceptWithoutDaemon(database: string, change: OwnFileChange): boolean {
  if (!existsSync(database)) return true
  try {
    using db = new DatabaseSync(database, { timeout: BUSY_MS })
    const table = db.prepare("select 1 from sqlite_master where name = 'accepted_files'").get()
    if (!table) return true // the first start of this version accepts what is there
    db.exec('begin immediate')
    const row = db.prepare('select path, content, next from accepted_files where path = ?').get(change.path)
    if (!row) return true
    const changed = applyChange(row as unknown as AcceptedFile, change)
    if (!changed) return false
    const update = db.prepare('update accepted_files set content = ?, next = ? where path = ?')
    update.run(changed.content, changed.next, changed.path)
    db.exec('commit')
    return true
  } catch (thrown) {
    throw new AppError('store_unusable', { file: database, problem: messageOf(thrown) }, thrown)
  }
}

const BUSY_MS = 5000
