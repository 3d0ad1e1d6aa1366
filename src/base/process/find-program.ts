import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, resolve } from 'node:path'

type Env = Record<string, string | undefined>

/** The file that `spawn` would run for this command, or undefined if it would fail. */
export function findProgram(command: string, env: Env, cwd = '.'): string | undefined {
  if (command.includes('/')) return [resolve(cwd, command)].find(isExecutable)
  const folders = (env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin').split(delimiter)
  return folders.map(folder => resolve(cwd, folder, command)).find(isExecutable)
}

/**
 * The file of a program that a person has installed. Relative folders on the PATH (`bin`, `.`, or an empty name) do not
 * count: they would mean another folder in every directory in which the program is started, and an agent may write there.
 */
export function findInstalledProgram(command: string, env: Env, cwd?: string): string | undefined {
  const path = env['PATH']
  if (command.includes('/') || path === undefined) return findProgram(command, env, cwd)
  const folders = path.split(delimiter).filter(isAbsolute)
  return folders.length === 0 ? undefined : findProgram(command, { PATH: folders.join(delimiter) }, '/')
}

/** Where the program was searched, for the message that it was not found. */
export function describeSearchPath(command: string, { PATH: path = '' }: Env): string {
  if (command.includes('/')) return 'under that path'
  const ignored = path === '' ? [] : path.split(delimiter).filter(folder => !isAbsolute(folder))
  if (ignored.length === 0) return 'on the PATH'
  return `on the PATH (without ${ignored.map(folder => JSON.stringify(folder)).join(', ')}: relative folders do not count)`
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
