import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isInside } from '../../base/is-inside.ts'
import type { Checkpoint, FileChange, ModifiedFile } from '../../domain/checkpoint.ts'
import { type ScanLimits, scanChanged } from './scan.ts'

/**
 * Files of the project that differ from the checkpoint: listed files by their hash, others by the time of their last change.
 * A deleted file that was not listed cannot be detected.
 */
export async function changedSince(
  checkpoint: Checkpoint,
  { limits, signal }: { limits?: ScanLimits | undefined; signal?: AbortSignal | undefined } = {},
): Promise<FileChange[]> {
  const { project_path: project, modified_files: listed, timestamp } = checkpoint
  const changes: FileChange[] = []
  const states = await hashFiles(
    project,
    listed.map(({ path }) => path),
  )
  for (const { path, hash } of listed) {
    const state = states.get(path) ?? 'unreadable'
    if (state === 'gone') {
      if (hash !== null) changes.push({ path, how: 'deleted' })
    } else if (hash === null) changes.push({ path, how: 'created' })
    else if (state === 'unreadable' || state.hash !== hash) changes.push({ path, how: 'changed' })
  }
  const listedPaths = new Set(listed.map(({ path }) => path))
  const { files } = await scanChanged({ project, since: timestamp, limits, signal })
  for (const { path, isNew } of files) {
    if (!listedPaths.has(path)) changes.push({ path, how: isNew ? 'created' : 'changed' })
  }
  return changes.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

export interface ModifiedFilesQuery {
  project: string
  since: number
  /** Paths that tools wrote to, the latest last. */
  written: string[]
  limits?: ScanLimits | undefined
  signal?: AbortSignal | undefined
}

/** More files than anybody checks by name; hashing them takes well under a second. */
export const MAX_FILES = 500

/** The files that changed while a session was working, with their present hashes, and notes about what is not listed. */
export async function findModifiedFiles(
  query: ModifiedFilesQuery,
): Promise<{ files: ModifiedFile[]; leftOut: string[] }> {
  const { project, written } = query
  const scan = await scanChanged(query)
  const newestFirst = scan.files.toSorted((a, b) => b.changedAt - a.changedAt).map(({ path }) => path)
  const paths = [...new Set([...written.toReversed(), ...newestFirst])]
  const states = await hashFiles(project, paths.slice(0, MAX_FILES))
  const files: ModifiedFile[] = []
  let unreadable = 0
  for (const [path, state] of states) {
    if (state === 'unreadable') unreadable += 1
    else files.push(state === 'gone' ? { path, hash: null, bytes: 0 } : { path, ...state })
  }
  const dropped = paths.length - MAX_FILES
  return {
    files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    leftOut: [
      ...(dropped > 0 ? [`${dropped} more changed files are not listed.`] : []),
      ...(unreadable > 0 ? [`${unreadable} changed files could not be read.`] : []),
      ...(scan.complete ? [] : ['The project was not searched completely; other files may have changed.']),
    ],
  }
}

export interface HashedFile {
  hash: string
  bytes: number
}

/** The state of a file: its hash, `gone`, or `unreadable` if it is unknown. */
export type FileState = HashedFile | 'gone' | 'unreadable'

/** Larger files are compared by size, time, beginning and end: reading all of a disk image would delay a pause. */
const WHOLE_BYTES = 32 * 1024 * 1024
const ENDS_BYTES = 1024 * 1024
const CHUNK_BYTES = 256 * 1024
const AT_ONCE = 16

/**
 * The state of one file of a project. No link out of the project is followed: a link is hashed by its target, and a file below
 * a linked directory that leads outside is unreadable. Opening never blocks on a pipe or a device.
 */
export async function hashFile(project: string, path: string): Promise<FileState> {
  const file = join(project, path)
  try {
    if (!(await isFolderInside(project, file))) return 'unreadable'
    const stats = await lstat(file)
    if (stats.isSymbolicLink()) return hashLink(await readlink(file))
    if (!stats.isFile()) return 'unreadable'
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const { size, mtimeMs } = await handle.stat()
    const hash = createHash('sha256')
    if (size <= WHOLE_BYTES) await hashRange(handle, hash, { from: 0, to: size })
    else {
      hash.update(`${size} ${mtimeMs}`)
      await hashRange(handle, hash, { from: 0, to: ENDS_BYTES })
      await hashRange(handle, hash, { from: size - ENDS_BYTES, to: size })
    }
    return { hash: hash.digest('hex'), bytes: size }
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'gone' : 'unreadable'
  }
}

/** The states of many files, a few at a time, so that large ones do not fill the memory. */
async function hashFiles(project: string, paths: string[]): Promise<Map<string, FileState>> {
  const states = new Map<string, FileState>()
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    const batch = paths.slice(at, at + AT_ONCE)
    const batchStates = await Promise.all(batch.map(path => hashFile(project, path)))
    for (const [nth, path] of batch.entries()) states.set(path, batchStates[nth] ?? 'unreadable')
  }
  return states
}

function hashLink(target: string): HashedFile {
  const text = `link to ${target}`
  return { hash: createHash('sha256').update(text).digest('hex'), bytes: 0 }
}

/** Whether the folder of a file is in the project after links are resolved. */
async function isFolderInside(project: string, file: string): Promise<boolean> {
  const [root, folder] = await Promise.all([realpath(project), realpath(dirname(file))])
  return isInside(folder, root)
}

async function hashRange(
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
