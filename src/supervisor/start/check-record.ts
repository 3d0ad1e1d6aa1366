import { access, constants, stat } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import { AppError, messageOf } from '../../base/errors.ts'

/** Refuses a recording that could not be written, before anything is started for it. */
export async function checkRecord(path: string | undefined): Promise<void> {
  if (path === undefined) return
  const refuse = (problem: string, cause?: unknown) => new AppError('record_unwritable', { path, problem }, cause)
  if (!isAbsolute(path)) throw refuse('it is not an absolute path')
  const found = await stat(path).catch(() => undefined)
  if (found && !found.isFile()) throw refuse('it is not a file')
  await access(found ? path : dirname(path), constants.W_OK).catch(error => {
    throw refuse(messageOf(error), error)
  })
}
