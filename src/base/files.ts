import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFile,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { secretId } from './ids.ts'

/**
 * Replaces the content of a file atomically: a reader sees the old or the new content, even after a power cut. A link is
 * followed, not replaced, so a config file that lives in a person's dotfiles stays there. Synchronous, so that it can run
 * inside `withFileLock`.
 */
export function replaceFile(path: string, content: string | Uint8Array, mode = 0o600): void {
  const target = realPath(path)
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  replaceEntry(target, content, mode)
}

/** The same in a folder that exists, for a file that an agent may have replaced: a link of that name is replaced, not followed. */
export function replaceEntry(target: string, content: string | Uint8Array, mode = 0o600): void {
  const fresh = join(dirname(target), `.${basename(target)}.${secretId(6)}.tmp`)
  try {
    const handle = openSync(fresh, 'wx', mode)
    try {
      writeFileSync(handle, content) // `writeSync` writes a part on a disk that becomes full, and reports no error
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    renameSync(fresh, target)
  } catch (thrown) {
    rmSync(fresh, { force: true })
    throw thrown
  }
}

/** Far more than a settings file or a note has. */
const SMALL_FILE_BYTES = 64_000_000

/** Up to here a file is read at once: to have another thread read it takes longer. */
const AT_ONCE_BYTES = 1_000_000

/**
 * Reads a file that an agent may have replaced. A pipe or a device throws like a missing file: reading it would take a thread of
 * this process for ever, and after four of them every other file would wait. A larger file throws too.
 */
export async function readRegularFile(...[path, maxBytes, options]: RegularFile): Promise<Buffer> {
  const { file, size } = openOrdinary(path, maxBytes, options)
  try {
    return size > AT_ONCE_BYTES ? await promisify(readFile)(file) : readFileSync(file)
  } finally {
    closeSync(file)
  }
}

type RegularFile = [path: string | Buffer, maxBytes?: number, options?: { follow?: boolean }]

/** What is looked at is what is read: a file can become a pipe between the two. */
function openOrdinary(...[path, maxBytes = SMALL_FILE_BYTES, { follow = true } = {}]: RegularFile) {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY
  const file = openSync(path, follow ? flags : flags | constants.O_NOFOLLOW)
  const stats = fstatSync(file)
  if (stats.isFile() && stats.size <= maxBytes) return { file, size: stats.size }
  closeSync(file)
  throw new Error(stats.isFile() ? `${path} is larger than ${maxBytes} bytes` : `${path} is no ordinary file`)
}

/**
 * Opens an ordinary file that an agent may have replaced; undefined for anything else, links too unless they are followed. To open a pipe at once
 * would stop this whole process for ever.
 */
export function openRegularFile(path: string, { follow = false } = {}): number | undefined {
  try {
    const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY
    const file = openSync(path, follow ? flags : flags | constants.O_NOFOLLOW)
    if (fstatSync(file).isFile()) return file
    closeSync(file)
  } catch {
    // It is missing, a link, or not for us.
  }
  return undefined
}

/** `readRegularFile` at once, however large the file is. */
export function readRegularFileSync(...wanted: RegularFile): Buffer {
  const { file } = openOrdinary(...wanted)
  try {
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}

/** The same; undefined where it throws. */
export function readRegularFileNow(...file: RegularFile): Buffer | undefined {
  try {
    return readRegularFileSync(...file)
  } catch {
    return undefined // it is missing, a link, too large, or not for us
  }
}

/** The text of such a file; undefined if it is missing. Anything else that is no ordinary file throws. */
export async function readTextIfAny(path: string): Promise<string | undefined> {
  try {
    // To look is cheaper than an error, and most of what is asked for is missing.
    if (!lstatSync(path, { throwIfNoEntry: false })) return undefined
    return (await readRegularFile(path)).toString('utf8')
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw thrown
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return path
    throw thrown
  }
}

/** Longer than any edit of a small file takes, and shorter than a person's patience. */
const WAIT_MS = 5_000

/**
 * Runs `work` while no other process holds the same lock file. The lock is SQLite's, which is a kernel lock: it vanishes
 * with its owner, so a crash leaves no stale lock. `work` is synchronous because a second call in this process would
 * otherwise deadlock.
 */
export function withFileLock<T>(lockFile: string, work: () => T): T {
  mkdirSync(dirname(lockFile), { recursive: true, mode: 0o700 })
  makePrivate(lockFile)
  const lock = openLock(lockFile, WAIT_MS)
  try {
    lock.exec('begin immediate')
    return work()
  } finally {
    lock.close()
  }
}

/** SQLite takes milliseconds to load, and most readers of files lock nothing. */
function openLock(lockFile: string, timeout: number) {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  return new DatabaseSync(lockFile, { timeout })
}

const RETRY_MS = 20

/** Like `withFileLock`, for work that waits for something: the wait for the lock does not block this process either. */
export async function whileLocked<T>(lockFile: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(lockFile), { recursive: true, mode: 0o700 })
  makePrivate(lockFile)
  using lock = openLock(lockFile, 0)
  for (const deadline = Date.now() + WAIT_MS; ; await sleep(RETRY_MS)) {
    try {
      lock.exec('begin immediate')
      break
    } catch (thrown) {
      if (Date.now() > deadline || !/locked/.test(String(thrown))) throw thrown
    }
  }
  return await work()
}

/**
 * Creates an empty file that only its owner can open, or takes the rights of others away from an existing one: SQLite itself
 * creates files that everybody may read, and whoever can read a lock file can hold the lock.
 */
export function makePrivate(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false })
  // Closing a file gives up every lock that this process holds on it, so that one which needs nothing is not opened.
  if (stats && ((stats.mode & 0o077) === 0 || stats.uid !== process.getuid?.())) return
  const handle = openSync(file, 'a', 0o600)
  try {
    const { mode, uid } = fstatSync(handle)
    if ((mode & 0o077) !== 0 && uid === process.getuid?.()) fchmodSync(handle, 0o600)
  } finally {
    closeSync(handle)
  }
}
