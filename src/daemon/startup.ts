import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { AppPaths } from '../base/app-paths.ts'
import { AppError, messageOf } from '../base/errors.ts'
import type { ErrorReply } from '../domain/api.ts'

/** Makes the daemon's directories, readable by their owner alone, and refuses those that cannot be written to. */
export function makeDirectories(paths: AppPaths): void {
  for (const dir of new Set([paths.home, paths.data, paths.run, paths.logs])) {
    try {
      mkdirSync(dir, { recursive: true, mode: 0o700 })
      if (dir !== paths.home) accessSync(dir, constants.W_OK | constants.X_OK)
      // `data` may be a directory of the person's own choosing: what is ours inside it is closed, the directory stays theirs.
      if (dir === paths.run || dir === paths.logs) chmodSync(dir, 0o700)
    } catch (error) {
      throw unusableDirectory(dir, error)
    }
  }
  if (dirname(paths.socket) !== paths.run) makeSharedDirectory(paths.socket)
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

export type Readiness = { ready: true } | { error: AppError }

export type Announce = (readiness: Readiness, words: string) => void

/**
 * Tells whoever started us how it went: one JSON line when standard output is a pipe, which is then closed, so that the
 * starter sees the end of it; plain words when a person looks. That is told once. What goes wrong later is told in words to
 * standard error, which stays ours: the number of a descriptor that was closed may be a client's connection by then.
 */
export function openAnnouncer(): Announce {
  let isTold = false
  return (readiness, words) => {
    const isFailed = 'error' in readiness
    if (isTold || !isPipe(1)) {
      writeQuietly(isFailed || isTold ? 2 : 1, `${words}\n`)
    } else {
      const line = isFailed ? errorReply(readiness.error) : { ready: true, pid: process.pid }
      writeQuietly(1, `${JSON.stringify(line)}\n`)
      replaceStandardOutput()
    }
    isTold = true
  }
}

/** Node's own pipes to a child are sockets. */
function isPipe(fd: number): boolean {
  try {
    const found = fstatSync(fd)
    return found.isFIFO() || found.isSocket()
  } catch {
    return false // closed by whoever started us
  }
}

/** The starter may have left already; the daemon goes on without it. */
function writeQuietly(fd: number, text: string): void {
  try {
    writeSync(fd, text)
  } catch {
    // Nobody listens.
  }
}

/**
 * The lowest free descriptor is the next one given out: standard output becomes the null device, as a rule. Files are opened in
 * other threads too, and one of those may be quicker: then the number is anybody's, which is why nothing is written there again.
 */
function replaceStandardOutput(): void {
  closeSync(1)
  openSync('/dev/null', 'w')
}

/** An error as the API tells it. */
export function errorReply(error: AppError): ErrorReply {
  return { error: { code: error.code, message: error.message, next: error.next } }
}
