import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'

/** The file that `spawn` would run for this command, or undefined where it would fail. */
export function findProgram(command: string, env: Record<string, string | undefined>, cwd = '.'): string | undefined {
  if (command.includes('/')) return [resolve(cwd, command)].find(isExecutable)
  const folders = (env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin').split(delimiter)
  return folders.map(folder => resolve(cwd, folder, command)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
