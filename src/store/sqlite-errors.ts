import { AppError, messageOf } from '../base/errors.ts'

/** SQLite's primary result codes that we branch on: https://www.sqlite.org/rescode.html */
export const SQLITE_BUSY = 5
export const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26

/** The codes about which a person can do something. */
const PROBLEMS: Record<number, string> = {
  [SQLITE_BUSY]: 'another process kept it locked for too long',
  6: 'another process kept it locked for too long',
  8: 'it is read-only',
  10: 'reading or writing failed',
  13: 'the disk is full',
  14: 'the file cannot be opened',
  23: 'access was refused',
}

/** Translates errors of the database or its file system into an `AppError` that says what to do. Mistakes in a query stay as they are. */
export function explainSqlite(file: string, thrown: unknown): unknown {
  if (thrown instanceof AppError || !(thrown instanceof Error)) return thrown
  const code = sqliteCode(thrown)
  if (code === SQLITE_CORRUPT) return new AppError('store_damaged', { file, problem: messageOf(thrown) }, thrown)
  if (code === SQLITE_NOTADB) return new AppError('store_foreign', { file, problem: messageOf(thrown) }, thrown)
  const problem = describeSqliteProblem(thrown) ?? describeFileProblem(thrown)
  return problem ? new AppError('store_unusable', { file, problem }, thrown) : thrown
}

/** The primary result code of an error of SQLite, translated or not; extended codes share its low byte. */
export function sqliteCode(thrown: unknown): number | undefined {
  const error = thrown instanceof AppError ? thrown.cause : thrown
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined
  return error.errcode & 0xff
}

function describeSqliteProblem(thrown: Error): string | undefined {
  if ('code' in thrown && thrown.code === 'ERR_INVALID_STATE') return 'it was closed'
  const code = sqliteCode(thrown)
  const problem = code === undefined ? undefined : PROBLEMS[code]
  return problem && `${problem} (${messageOf(thrown)})`
}

function describeFileProblem(thrown: Error): string | undefined {
  return 'syscall' in thrown ? messageOf(thrown) : undefined
}
