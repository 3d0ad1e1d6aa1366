import { accessSync, constants, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { foldersOf, ignoredFolders } from '../search-path.ts'

type Env = Record<string, string | undefined>

/** The file of an installed program, or undefined if there is none. Only whole paths of the PATH count (`foldersOf`). */
export function findProgram(command: string, env: Env, cwd = '.'): string | undefined {
  if (command.includes('/')) return [resolve(cwd, command)].find(isExecutable)
  return foldersOf(env['PATH'])
    .map(folder => join(folder, command))
    .find(isExecutable)
}

/** Where the program was searched, for the message that it was not found. */
export function describeSearchPath(command: string, { PATH: path }: Env): string {
  if (command.includes('/')) return 'under that path'
  const ignored = ignoredFolders(path)
  if (ignored.length === 0) return 'on the PATH'
  return `on the PATH (without ${ignored.map(folder => JSON.stringify(folder)).join(', ')}: relative folders do not count)`
}

function isExecutable(path: string): boolean {
  try {
    // To look is cheaper than an error: in most folders of a PATH it is missing.
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
