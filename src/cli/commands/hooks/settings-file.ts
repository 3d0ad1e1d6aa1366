import { accessSync, constants, lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf } from '../../../base/errors.ts'
import { readRegularFileNow } from '../../../base/files.ts'
import { isInside } from '../../../base/is-inside.ts'
import { NotEditable } from './edit-json.ts'
import type { HookFile } from './vendor-files.ts'

/** A settings file as it is on the disk. */
export interface SettingsOnDisk {
  /** Its content; undefined if there is no such file. */
  bytes: Buffer | undefined
  text: string
  mode: number
  /** The file that a link leads to. */
  target?: string
}

/** Far more than settings have, and little enough to be edited at once. */
const MAX_BYTES = 4_000_000

/**
 * Reads a settings file that is to be changed. Throws `NotEditable`, with the reason for a person, if it must not be: a link that leads
 * nowhere or out of its project, something that is no file, and a file that is huge, read-only, not text or somebody else's.
 */
export function readSettingsFile({ path, within }: Pick<HookFile, 'path' | 'within'>): SettingsOnDisk {
  const link = lstatSync(path, { throwIfNoEntry: false })
  if (!link) return { ...readMissing(path, within), text: '' }
  const target = link.isSymbolicLink() ? followLink(path) : undefined
  refuseOutside(target ?? path, within)
  const stats = statSync(path)
  refuseUnusable(stats)
  refuseUnwritable(dirname(target ?? path))
  const bytes = readRegularFileNow(path, MAX_BYTES)
  if (!bytes) throw new NotEditable('it cannot be read')
  return { bytes, text: decode(bytes), mode: stats.mode & 0o777, ...(target !== undefined && { target }) }
}

function readMissing(path: string, within: string | undefined): { bytes: undefined; mode: number } {
  const folder = nearestFolder(dirname(path))
  refuseOutside(folder, within)
  refuseUnwritable(folder)
  return { bytes: undefined, mode: 0o600 }
}

function followLink(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    throw new NotEditable('it is a link that leads nowhere')
  }
}

function refuseOutside(path: string, within: string | undefined): void {
  if (within === undefined) return
  const [real, fence] = [realpathSync(path), realpathSync(within)]
  if (real !== fence && !isInside(real, fence)) throw new NotEditable(`it leads out of the project, to ${real}`)
}

function refuseUnusable(stats: Stats): void {
  if (!stats.isFile()) throw new NotEditable('it is no ordinary file')
  if (stats.size > MAX_BYTES) throw new NotEditable(`it is larger than ${MAX_BYTES} bytes`)
  if (stats.uid !== process.getuid?.()) throw new NotEditable('it belongs to another user')
  if ((stats.mode & 0o200) === 0) throw new NotEditable('it is read-only')
}

function refuseUnwritable(folder: string): void {
  const stats = statSync(folder)
  if (!stats.isDirectory()) throw new NotEditable(`${folder} is no folder`)
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch {
    throw new NotEditable(`you may not write in ${folder}`)
  }
}

function nearestFolder(folder: string): string {
  return lstatSync(folder, { throwIfNoEntry: false }) || folder === dirname(folder)
    ? followLink(folder)
    : nearestFolder(dirname(folder))
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (thrown) {
    throw new NotEditable(`it is not UTF-8 text (${messageOf(thrown)})`)
  }
}
