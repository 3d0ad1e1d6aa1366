import { AppError, messageOf } from '../../base/errors.ts'

/** SQLite's primary result codes that a person can do something about. The low byte is the primary code. */
const PROBLEMS: Record<number, string> = {
  5: 'another process kept it locked for too long',
  6: 'another process kept it locked for too long',
  8: 'it is read-only',
  10: 'reading or writing failed',
  11: 'it is damaged',
  13: 'the disk is full',
  14: 'the file cannot be opened',
  23: 'access was refused',
  26: 'it is not a SQLite database',
}

/** Gives errors of the database or its file system the code `store_unusable`; mistakes in a query stay what they are. */
export function explainSqlite(file: string, thrown: unknown): unknown {
  if (thrown instanceof AppError || !(thrown instanceof Error)) return thrown
  const problem = sqliteProblem(thrown) ?? fileProblem(thrown)
  return problem ? new AppError('store_unusable', { file, problem }, thrown) : thrown
}

/** The primary result code of an error that SQLite threw. */
export function sqliteCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number') return undefined
  return thrown.errcode & 0xff
}

function sqliteProblem(thrown: Error): string | undefined {
  const code = sqliteCode(thrown)
  const problem = code === undefined ? undefined : PROBLEMS[code]
  return problem && `${problem} (${messageOf(thrown)})`
}

function fileProblem(thrown: Error): string | undefined {
  return 'syscall' in thrown ? messageOf(thrown) : undefined
}
