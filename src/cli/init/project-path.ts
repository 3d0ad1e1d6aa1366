import { realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve, sep } from 'node:path'
import { AppError } from '../../base/errors.ts'

/** The real directory that is meant. A home directory, what holds one and the root are refused unless that was asked for. */
export function projectPath(
  path: string,
  { env, force }: { env: Record<string, string | undefined>; force: boolean },
): string {
  const given = resolve(path)
  const found = statSync(given, { throwIfNoEntry: false })
  if (!found) throw new AppError('project_missing', { path: given })
  if (!found.isDirectory()) throw new AppError('project_not_directory', { path: given })
  const project = realpathSync(given)
  if (force) return project
  const home = realOf(env['HOME'] || homedir())
  if (project === home) throw new AppError('project_too_wide', { path: project, what: 'your home directory' })
  if (project === sep || home.startsWith(project + sep)) {
    throw new AppError('project_too_wide', { path: project, what: 'a directory that holds your home directory' })
  }
  return project
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path) // a home that does not exist holds nothing
  }
}
