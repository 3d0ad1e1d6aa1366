import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { AppPaths } from '../base/app-paths.ts'
import { AppError, messageOf, toErrorReply } from '../base/errors.ts'

/** Makes the daemon's directories, readable by their owner only, and refuses those that cannot be written to. */
export function makeDirectories(paths: AppPaths): void {
  for (const dir of new Set([paths.home, paths.data, paths.run, paths.logs])) {
    try {
      makeFolder(dir)
      if (dir !== paths.home) accessSync(dir, constants.W_OK | constants.X_OK)
      // The user may have chosen `data` themselves: we restrict our own directories inside it and leave its mode alone.
      if (dir === paths.run || dir === paths.logs) chmodSync(dir, 0o700)
    } catch (error) {
      throw unusableDirectory(dir, error)
    }
  }
  if (dirname(paths.socket) !== paths.run) makeSharedDirectory(paths.socket)
}

/**
 * Makes a folder and those above it. Node's own `recursive` never ends where a folder that exists lets nobody make another and says
 * that it does not exist, as /proc does.
 */
export function makeFolder(dir: string): void {
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory()) return
  const parent = dirname(dir)
  if (parent !== dir) makeFolder(parent)
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    // Two commands may start at once.
    if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
}

/** `mkdir` fails with ENOTDIR below a file and with EEXIST on the file itself: both mean that something else is there. */
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
  ENOENT: 'no folder can be made there',
  EROFS: 'its disk is read-only',
  ENOSPC: 'the disk is full',
}

/**
 * A home with a long path gets its socket under /tmp, where anybody may have made a directory of that name first. The
 * directory is used only if it is a real directory, belongs to us, and is closed to others.
 */
function makeSharedDirectory(socket: string): void {
  const dir = dirname(socket)
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const stat = lstatSync(dir)
  const isOurs = stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0
  if (!isOurs) throw new AppError('socket_occupied', { path: dir })
}

export type Readiness = { ready: true } | { error: AppError }

export type Announce = (readiness: Readiness, text: string) => void

/**
 * Reports the start's outcome to the process that started us, once. If standard output is a pipe, it gets one JSON line and is
 * then closed, so that the reader sees the end; otherwise a person is reading and gets plain text. Later problems go to
 * standard error as text, because that descriptor stays ours: the number of a closed one may be a client's connection by then.
 */
export function openAnnouncer(): Announce {
  let isAnnounced = false
  return (readiness, text) => {
    const isFailed = 'error' in readiness
    if (isAnnounced || !isPipe(1)) {
      writeQuietly(isFailed || isAnnounced ? 2 : 1, `${text}\n`)
    } else {
      const line = isFailed ? toErrorReply(readiness.error) : { ready: true, pid: process.pid }
      writeQuietly(1, `${JSON.stringify(line)}\n`)
      replaceStandardOutput()
    }
    isAnnounced = true
  }
}

/** Node's own pipes to a child process are sockets. */
function isPipe(fd: number): boolean {
  try {
    const stat = fstatSync(fd)
    return stat.isFIFO() || stat.isSocket()
  } catch {
    return false // closed by the process that started us
  }
}

/** The process that started us may be gone already; the daemon goes on without it. */
function writeQuietly(fd: number, text: string): void {
  try {
    writeSync(fd, text)
  } catch {
    // Nobody reads it.
  }
}

/**
 * The system hands out the lowest free descriptor next, so standard output usually becomes the null device. Other threads open
 * files too, and one of them may be quicker and get the number: that is why nothing is written to it again.
 */
function replaceStandardOutput(): void {
  closeSync(1)
  openSync('/dev/null', 'w')
}

/**
 * A daemon makes little garbage. With a young heap that does not grow it idles at 88 MB instead of 101 MB (measured from dist). While
 * other programs send thousands of requests a second it may grow: otherwise what they leave reaches the old heap, which costs more.
 */
export function growYoungHeap(mayGrow: boolean): void {
  setFlagsFromString(`--semi-space-growth-factor=${mayGrow ? 2 : 1}`)
}
