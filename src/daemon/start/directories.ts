import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { Places } from '../../base/places.ts'

/** Makes the daemon's directories, readable by their owner alone. */
export function makeDirectories(places: Places): void {
  for (const dir of new Set([places.home, places.data, places.run, places.logs])) {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
  }
  // `data` may be a directory of the person's own choosing: what is ours inside it is closed, the directory stays theirs.
  for (const dir of [places.run, places.logs]) chmodSync(dir, 0o700)
  if (dirname(places.socket) !== places.run) makeSharedDirectory(places.socket)
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
