import { stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../base/errors.ts'
import type { Values } from './config.ts'
import type { ConfigFile } from './file-layer.ts'
import { type SettingKey, settingOf } from './settings.ts'

const PROJECT_FILE = '.perpetualcc.toml'

/** The nearest project file at or above a directory; the home directory is the last one looked at. */
export async function findProjectFile(directory: string, home: string): Promise<string | undefined> {
  for (const each of directoriesUp(directory, home)) {
    const file = join(each, PROJECT_FILE)
    if (await exists(file)) return file
  }
  return undefined
}

/** A directory and those above it, up to home when it lies inside, else to the root of the file system. */
function directoriesUp(directory: string, home: string): string[] {
  const found: string[] = []
  for (let at = resolve(directory); ; at = dirname(at)) {
    found.push(at)
    if (at === resolve(home) || at === dirname(at)) return found
  }
}

/**
 * What a project's file comes to: all of it when trusted; until then what is free, and of the rest only what makes a
 * setting stricter. `untrusted` names the keys that wait, in whole or in part.
 */
export function projectLayer(
  file: ConfigFile,
  held: Values,
  trusted: boolean,
): { values: Partial<Values>; untrusted: SettingKey[] } {
  const values: Partial<Record<SettingKey, unknown>> = {}
  const untrusted: SettingKey[] = []
  for (const key of Object.keys(file.values) as SettingKey[]) {
    const setting = settingOf(key)
    const proposed = file.values[key]
    if (setting.project === 'never') throw notInProject(file, key)
    if (trusted || setting.project === 'free') {
      values[key] = proposed
      continue
    }
    const strict = setting.tighten ? setting.tighten(held[key], proposed) : held[key]
    if (!isDeepStrictEqual(strict, proposed)) untrusted.push(key)
    if (!isDeepStrictEqual(strict, held[key])) values[key] = strict
  }
  return { values: values as Partial<Values>, untrusted }
}

function notInProject(file: ConfigFile, key: SettingKey): AppError {
  const problem = 'a project file may not set this; it belongs in your own config file (pcc config path)'
  return new AppError('config_invalid', { file: file.path, line: file.lines.get(key) ?? 1, key, problem })
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    thrown =>
      (thrown as NodeJS.ErrnoException).code !== 'ENOENT' && (thrown as NodeJS.ErrnoException).code !== 'ENOTDIR',
  )
}
