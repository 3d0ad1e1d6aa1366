import { realpath, stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { AppError } from '../../base/errors.ts'

/** The real path of a project; refused when it is not an existing directory. */
export async function checkProject(path: string): Promise<string> {
  if (!isAbsolute(path)) {
    throw new AppError('bad_request', { route: 'POST /sessions', problem: `project: ${path} is not an absolute path` })
  }
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOTDIR') throw new AppError('project_not_directory', { path })
    throw new AppError('project_missing', { path }, error)
  })
  if (!found.isDirectory()) throw new AppError('project_not_directory', { path })
  return realpath(path)
}
