import { mkdirSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { AppPaths } from '../../../base/app-paths.ts'
import { AppError, messageOf } from '../../../base/errors.ts'
import { replaceFile, withFileLock } from '../../../base/files.ts'
import { type Addition, addElements, NotEditable, parseValue, removeElements } from './edit-json.ts'
import {
  dropBackup,
  hashOf,
  type Installed,
  type InstalledFile,
  keepBackup,
  readBackup,
  readInstalled,
  writeInstalled,
} from './record.ts'
import { readSettingsFile, type SettingsOnDisk } from './settings-file.ts'
import { type HookFile, listHooks } from './vendor-files.ts'

/** What is to become of one settings file. Nothing is written yet. */
export interface SettingsChange {
  file: HookFile
  found: SettingsOnDisk
  /** The file without our hooks; undefined if there is none then. */
  before: Buffer | undefined
  /** The file as it will be; undefined if it goes. */
  after: Buffer | undefined
  /** Whether it gets hooks. */
  adds: boolean
}

interface PlanContext {
  paths: Pick<AppPaths, 'home'>
  isOurs: (value: unknown) => boolean
}

/**
 * Plans to add these hooks, in place of those that are there already. If all are there, wherever and however somebody has written them, the
 * file stays. Throws an `AppError` with the reason if the file cannot be changed.
 */
export function planInstall(file: HookFile, additions: readonly Addition[], context: PlanContext): SettingsChange {
  return explain(file, () => {
    const found = readSettingsFile(file)
    const before = withoutOurs(file, found, context)
    const text = before?.toString('utf8') ?? ''
    const wanted = addElements(text.trim() === '' ? file.blank : text, additions)
    const ours = (settings: string) =>
      listHooks(parseValue(settings))
        .filter(({ hook }) => context.isOurs(hook))
        .map(each => JSON.stringify(each))
        .sort()
    const isThere = found.bytes && found.text.trim() !== '' && isDeepStrictEqual(ours(found.text), ours(wanted))
    return { file, found, before, after: isThere ? found.bytes : Buffer.from(wanted), adds: true }
  })
}

/** Plans to take our hooks out. */
export function planUninstall(file: HookFile, context: PlanContext): SettingsChange {
  return explain(file, () => {
    const found = readSettingsFile(file)
    const before = withoutOurs(file, found, context)
    return { file, found, before, after: before, adds: false }
  })
}

/** Whether the change would write anything. */
export function isChange({ found, after }: SettingsChange): boolean {
  return found.bytes === undefined ? after !== undefined : after === undefined || !found.bytes.equals(after)
}

function explain<T>(file: HookFile, work: () => T): T {
  try {
    return work()
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown
    const isKnown = thrown instanceof NotEditable || (thrown as NodeJS.ErrnoException).code !== undefined
    if (!isKnown) throw thrown
    throw new AppError('hooks_file', { file: file.path, problem: messageOf(thrown) }, thrown)
  }
}

/** The file as it was, if nobody has changed it since; otherwise the file as it is, without our hooks. */
function withoutOurs(
  file: HookFile,
  { bytes, text }: SettingsOnDisk,
  { paths, isOurs }: PlanContext,
): Buffer | undefined {
  if (bytes === undefined) return undefined
  const known = readInstalled(paths).files.find(({ path }) => path === file.path)
  const copy = known?.backup ? readBackup(paths, known.backup) : undefined
  if (known && known.after === hashOf(bytes) && (copy || known.backup === null)) return copy
  const before = known?.backup === null ? file.blank : copy?.toString('utf8')
  const cleaned = removeElements(text, { top: 'hooks', isOurs, before })
  if (cleaned === text) return bytes
  const isBlank = isDeepStrictEqual(parseValue(cleaned), parseValue(file.blank)) && !/\/[/*]/.test(cleaned)
  const wasBlank = known !== undefined && (known.backup === null || copy?.toString('utf8').trim() === '')
  return isBlank && wasBlank ? copy : Buffer.from(cleaned)
}

/**
 * Writes the changes, one installer at a time. A file that somebody changed since it was shown is left alone. The copy and the record come
 * first: a crash in between leaves a file without our hooks, and a record that says nothing wrong about it.
 */
export function applyChange(paths: Pick<AppPaths, 'home'>, change: SettingsChange, place: Installed['place']): void {
  const { file, after, found, adds } = change
  withFileLock(join(paths.home, 'hooks', 'lock'), () =>
    explain(file, () => {
      const { bytes } = readSettingsFile(file)
      if (!isSame(bytes, found.bytes)) throw new NotEditable('it was changed just now; look at it and run this again')
      if (adds && after) install(paths, { ...change, after }, place)
      else uninstall(paths, change)
    }),
  )
}

function isSame(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other)
}

function install(
  paths: Pick<AppPaths, 'home'>,
  { file, before, after, found }: SettingsChange & { after: Buffer },
  place: Installed['place'],
): void {
  const { path, vendor, scope } = file
  const record = readInstalled(paths)
  const old = record.files.find(each => each.path === path)
  const folders = found.bytes === undefined ? makeFolders(dirname(path)) : []
  const entry: InstalledFile = {
    ...{ vendor, scope, path, after: hashOf(after) },
    backup: before === undefined ? null : keepBackup(paths, before),
    folders: [...folders, ...(old?.folders ?? [])],
  }
  writeInstalled(paths, { ...record, place, files: [...record.files.filter(each => each !== old), entry] })
  if (old && old.backup !== entry.backup) dropUnused(paths, old.backup)
  if (!isSame(found.bytes, after)) replaceFile(path, after, found.mode)
}

function uninstall(paths: Pick<AppPaths, 'home'>, { file, after, found }: SettingsChange): void {
  const record = readInstalled(paths)
  const known = record.files.find(({ path }) => path === file.path)
  if (after === undefined) {
    rmSync(found.target ?? file.path, { force: true })
    for (const folder of known?.folders ?? []) removeEmpty(folder)
  } else if (!isSame(found.bytes, after)) replaceFile(file.path, after, found.mode)
  if (!known) return
  writeInstalled(paths, { ...record, files: record.files.filter(each => each !== known) })
  dropUnused(paths, known.backup)
}

/** Two files with the same content share a copy. */
function dropUnused(paths: Pick<AppPaths, 'home'>, name: string | null): void {
  if (!readInstalled(paths).files.some(({ backup }) => backup === name)) dropBackup(paths, name)
}

/** Makes a folder and those above it; returns those that were missing, the deepest first. */
function makeFolders(folder: string): string[] {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 })
  const made: string[] = []
  for (let at = folder; first !== undefined; at = dirname(at)) {
    made.push(at)
    if (at === first) break
  }
  return made
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // somebody put something there, or removed it
  }
}
