import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, resolve } from 'node:path'

type Env = Record<string, string | undefined>

/** The file that `spawn` would run for this command, or undefined where it would fail. */
export function findProgram(command: string, env: Env, cwd = '.'): string | undefined {
  if (command.includes('/')) return [resolve(cwd, command)].find(isExecutable)
  const folders = (env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin').split(delimiter)
  return folders.map(folder => resolve(cwd, folder, command)).find(isExecutable)
}

/**
 * The file of a program that a person has installed. A folder that the PATH names by a relative path (`bin`, `.`, or an empty name) does not
 * count: it would be another one in every directory in which the program is started, and lie where an agent may write.
 */
export function findInstalledProgram(command: string, env: Env, cwd?: string): string | undefined {
  const path = env['PATH']
  if (command.includes('/') || path === undefined) return findProgram(command, env, cwd)
  const folders = path.split(delimiter).filter(isAbsolute)
  return folders.length === 0 ? undefined : findProgram(command, { PATH: folders.join(delimiter) }, '/')
}

/** Where it was looked for, for the message that it is not there. */
export function describeSearchPath(command: string, { PATH: path = '' }: Env): string {
  if (command.includes('/')) return 'under that path'
  const left = path === '' ? [] : path.split(delimiter).filter(folder => !isAbsolute(folder))
  if (left.length === 0) return 'on the PATH'
  return `on the PATH (of which ${left.map(folder => JSON.stringify(folder)).join(', ')} does not count, being no whole path)`
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
