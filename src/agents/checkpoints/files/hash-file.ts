import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'

export interface HashedFile {
  hash: string
  bytes: number
}

/** What became of a file: its hash, `gone`, or `unreadable` where nothing can be said. */
export type FileState = HashedFile | 'gone' | 'unreadable'

/** Larger files are told apart by size, time, beginning and end: reading all of a disk image would hold up a pause. */
const WHOLE_BYTES = 32 * 1024 * 1024
const ENDS_BYTES = 1024 * 1024
const CHUNK_BYTES = 256 * 1024
const AT_ONCE = 16

/**
 * The state of one file of a project. Nothing is followed out of it: a link is hashed by where it points, and a file below
 * a linked directory that leads outside is unreadable. A pipe or a device is never waited for.
 */
export async function hashFile(project: string, path: string): Promise<FileState> {
  const file = join(project, path)
  try {
    if (!(await isInside(project, file))) return 'unreadable'
    const found = await lstat(file)
    if (found.isSymbolicLink()) return ofLink(await readlink(file))
    if (!found.isFile()) return 'unreadable'
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const { size, mtimeMs } = await handle.stat()
    const hash = createHash('sha256')
    if (size <= WHOLE_BYTES) await feed(handle, hash, { from: 0, to: size })
    else {
      hash.update(`${size} ${mtimeMs}`)
      await feed(handle, hash, { from: 0, to: ENDS_BYTES })
      await feed(handle, hash, { from: size - ENDS_BYTES, to: size })
    }
    return { hash: hash.digest('hex'), bytes: size }
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'gone' : 'unreadable'
  }
}

/** The states of many files, some at a time: few enough that large ones do not fill the memory. */
export async function hashFiles(project: string, paths: string[]): Promise<Map<string, FileState>> {
  const states = new Map<string, FileState>()
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    const some = paths.slice(at, at + AT_ONCE)
    const found = await Promise.all(some.map(path => hashFile(project, path)))
    for (const [nth, path] of some.entries()) states.set(path, found[nth] ?? 'unreadable')
  }
  return states
}

function ofLink(target: string): HashedFile {
  const text = `link to ${target}`
  return { hash: createHash('sha256').update(text).digest('hex'), bytes: 0 }
}

async function isInside(project: string, file: string): Promise<boolean> {
  const [root, folder] = await Promise.all([realpath(project), realpath(dirname(file))])
  return folder === root || folder.startsWith(root === sep ? root : root + sep)
}

async function feed(
  handle: FileHandle,
  hash: ReturnType<typeof createHash>,
  { from, to }: { from: number; to: number },
) {
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(CHUNK_BYTES, to - from)))
  for (let at = from; at < to; ) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, to - at), at)
    if (bytesRead === 0) return
    hash.update(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
}
