import { existsSync } from 'node:fs'
import { Kysely, sql } from 'kysely'
import { SqliteConnection } from '../database/sqlite-connection.ts'
import { inspectFile } from '../database/sqlite-file.ts'
import { MIGRATIONS } from '../migrations/all.ts'
import type { Answers } from '../store.ts'
import type { Tables } from '../tables.ts'
import { findAnswer } from './answers.ts'

export type RememberedAnswers = Pick<Answers, 'find'> & Disposable

/** Remembered answers for who needs no daemon. The file is opened when first asked, only read, and need not be there. */
export function openRememberedAnswers(file: string): RememberedAnswers {
  let opened: Promise<Opened | undefined> | undefined
  return {
    async find(project, fingerprint) {
      opened ??= open(file)
      return (await opened)?.find(project, fingerprint)
    },
    [Symbol.dispose]() {
      opened?.then(found => found?.close()).catch(() => undefined) // what could not be opened need not be closed
    },
  }
}

interface Opened {
  find: Answers['find']
  close(): void
}

async function open(file: string): Promise<Opened | undefined> {
  if (!existsSync(file)) return undefined
  await inspectFile(file, MIGRATIONS.length)
  const connection = new SqliteConnection(file, { readOnly: true })
  const db = new Kysely<Tables>({ dialect: connection.dialect })
  // A file that an older program made, or that was just created, has no such table yet.
  const { rows } = await sql`select 1 from sqlite_master where name = 'answers'`.execute(db)
  if (rows.length > 0) return { find: findAnswer(db), close: () => connection.close() }
  connection.close()
  return undefined
}
