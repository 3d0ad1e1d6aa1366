import { accessSync, chmodSync, constants, lstatSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Places } from '../../base/places.ts'

/** Makes the daemon's directories, readable by their owner alone, and refuses those that cannot be written to. */
export function makeDirectories(places: Places): void {
  for (const dir of new Set([places.home, places.data, places.run, places.logs])) {
    try {
      mkdirSync(dir, { recursive: true, mode: 0o700 })
      if (dir !== places.home) accessSync(dir, constants.W_OK | constants.X_OK)
      // `data` may be a directory of the person's own choosing: what is ours inside it is closed, the directory stays theirs.
      if (dir === places.run || dir === places.logs) chmodSync(dir, 0o700)
    } catch (error) {
      throw unusableDirectory(dir, error)
    }
  }
  if (dirname(places.socket) !== places.run) makeSharedDirectory(places.socket)
}

/** `mkdir` of a path below a file says ENOTDIR, of the file itself EEXIST: both mean that something else is there. */
export function unusableDirectory(dir: string, error: unknown): AppError {
  const { code = '' } = error as NodeJS.ErrnoException
  const problem = PROBLEMS[code] ?? messageOf(error)
  return new AppError('data_directory_unusable', { dir, problem }, error)
}

const PROBLEMS: Record<string, string> = {
  ENOTDIR: 'there is a file in its place',
  EEXIST: 'there is a file in its place',
  EACCES: 'you may not write there',
  EPERM: 'you may not write there',
  EROFS: 'it lies on a disk that is read-only',
  ENOSPC: 'the disk is full',
}

/**
 * A long home gets its socket under /tmp, where anybody may have made a directory of that name first: it is used only if it
 * is a real directory, ours, and closed to others.
 */
function makeSharedDirectory(socket: string): void {
  const dir = dirname(socket)
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const found = lstatSync(dir)
  const ours = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0
  if (!ours) throw new AppError('socket_occupied', { path: dir })
}
