import { chmodSync, constants, copyFileSync, existsSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type RecordChange, replaceOwnFile } from '../../base/accepted-file.ts'
import type { AppPaths } from '../../base/app-paths.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { replaceFile, whileLocked } from '../../base/files.ts'
import { removeFromToml, setInToml, type TomlValue } from '../../base/toml-edit.ts'
import { checkConfigText } from './layers.ts'
import { checkText } from './parse-setting.ts'
import { type SettingKey, settingOf } from './settings.ts'

interface EditOptions {
  clock?: Clock
  record?: RecordChange | undefined
}

/** Sets one key in the user's file and changes nothing else. An invalid file is refused, not repaired. */
export async function setSetting(
  paths: AppPaths,
  key: SettingKey,
  text: string,
  { record }: EditOptions = {},
): Promise<TomlValue> {
  const value = parseSettingText(key, text)
  await editFile(paths, async file => {
    const before = readText(file) ?? ''
    check(file, before)
    const after = setInToml(before, key.split('.'), value)
    if (after === undefined) throw new AppError('config_not_edited', { file, key })
    check(file, after)
    if (after !== before) await replaceOwnFile({ path: file, before, after }, record)
  })
  return value
}

/** The value of a setting as a person types it. */
export function parseSettingText(key: SettingKey, text: string): TomlValue {
  const checked = checkText(key, text)
  if (!checked.ok) throw new AppError('setting_invalid', { origin: 'pcc config set', key, problem: checked.problem })
  return toStoredValue(key, checked.value as TomlValue)
}

/** Sets keys in the file of a project and changes nothing else. What only a person's own file may set is refused. Somebody has to agree to the file then. */
export function setInProjectFile(
  file: string,
  settings: readonly { key: SettingKey; value: TomlValue }[],
  home: string,
): void {
  let text = readText(file) ?? 'version = 1\n'
  for (const { key, value } of settings) {
    // The file is committed: a key in it would be in the history of the project.
    const { project, secret } = settingOf(key)
    if (project === 'never' || secret) throw new AppError('setting_not_of_projects', { key })
    const after = setInToml(text, key.split('.'), value)
    if (after === undefined) throw new AppError('config_not_edited', { file, key })
    text = after
  }
  checkConfigText({ path: file, content: text, home })
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0o644
  replaceFile(file, text, mode & 0o777)
}

/** Removes one key from the user's file and keeps a backup beside it. Returns the backup's path, or undefined if the key was not set. */
export function resetSetting(
  paths: AppPaths,
  key: SettingKey,
  { clock = systemClock, record }: EditOptions = {},
): Promise<string | undefined> {
  return editFile(paths, async file => {
    const before = readText(file) ?? ''
    check(file, before)
    const after = removeFromToml(before, key.split('.'))
    if (after === undefined) throw new AppError('config_not_edited', { file, key })
    if (after === before) return undefined
    check(file, after)
    const backup = backUp(file, clock)
    await replaceOwnFile({ path: file, before, after }, record)
    return backup
  })
}

/** Empties the user's file, whatever it contains, and keeps a backup beside it. Returns the backup's path, or undefined if there was no file. */
export function resetSettings(
  paths: AppPaths,
  { clock = systemClock, record }: EditOptions = {},
): Promise<string | undefined> {
  return editFile(paths, async file => {
    if (!existsSync(file)) return undefined
    const backup = backUp(file, clock)
    await replaceOwnFile({ path: file, after: '' }, record)
    return backup
  })
}

function editFile<T>(paths: AppPaths, work: (file: string) => Promise<T>): Promise<T> {
  return whileLocked(join(paths.home, 'config.lock'), () => work(paths.configFile))
}

/** A path on the command line is relative to the current directory; in the file it would be relative to the file. So it is made absolute. */
function toStoredValue(key: SettingKey, value: TomlValue): TomlValue {
  const isPath = settingOf(key).kind === 'path' && typeof value === 'string'
  return isPath && value !== '~' && !value.startsWith('~/') ? resolve(value) : value
}

function check(path: string, content: string): void {
  checkConfigText({ path, content, home: homedir() })
}

function readText(file: string): string | undefined {
  try {
    const bytes = readFileSync(file)
    const text = bytes.toString('utf8')
    if (!isDeepStrictEqual(Buffer.from(text), bytes)) throw new Error('it is not text in UTF-8')
    return text
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new AppError('config_unreadable', { file, problem: messageOf(thrown) }, thrown)
  }
}

function backUp(file: string, clock: Clock): string {
  const time = new Date(clock.now()).toISOString().replaceAll(':', '-').slice(0, 19)
  for (let number = 1; ; number++) {
    const backup = `${file}.${time}${number === 1 ? '' : `-${number}`}.bak`
    if (existsSync(backup)) continue
    copyFileSync(file, backup, constants.COPYFILE_EXCL)
    chmodSync(backup, 0o600)
    return backup
  }
}
