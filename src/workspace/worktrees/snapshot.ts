import { constants, type Stats } from 'node:fs'
import { lstat, mkdir, opendir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { copyInside } from '../../base/real-folder.ts'
import { INSTALLED } from '../../domain/package-managers.ts'
import { projectFolderName, type WorktreeDeps } from './worktree.ts'

/** A larger project is not copied: the disk is the person's. */
const MOST_BYTES = 1_000_000_000
const MOST_FILES = 100_000

/** Folders that are not copied: programs can fill them again, and a repository keeps its own history. */
const LEFT_OUT = new Set([...INSTALLED.keys(), '.git', 'target', '__pycache__', 'dist', 'build'])

export type ProjectSnapshot = { kind: 'copied'; path: string; files: number } | { kind: 'not_copied'; why: string }

export interface SnapshotRequest {
  project: string
  task: string
  attempt: number
  /** Folders of pcc itself. They may lie in the project: a copy that held itself would never end. */
  own: readonly string[]
  /** Ends the copying. */
  signal?: AbortSignal | undefined
  /** Called before anything is copied. */
  onBegin?: ((size: ProjectSize) => Promise<void>) | undefined
}

export interface ProjectSize {
  files: number
  bytes: number
}

/**
 * Copies a project without git before an agent works in it, so that a person can restore it by hand; on write where the file
 * system can. A project that is too large is not copied, and the result says so. Throws if the signal aborts.
 */
export async function snapshotCopy(
  { project, task, attempt, own, signal, onBegin }: SnapshotRequest,
  { root, log }: Pick<WorktreeDeps, 'root' | 'log'>,
): Promise<ProjectSnapshot> {
  const path = join(root, 'snapshots', projectFolderName(project), `${task}-${attempt}`)
  const aside = `${path}.pcc-copying`
  await mkdir(root, { recursive: true, mode: 0o700 })
  const isCopied = await chooseCopied([root, ...own])
  if (await lstat(path).catch(() => undefined)) return { kind: 'copied', path, files: await countFiles(path, isCopied) }
  try {
    const size = await measureCopied(project, { isCopied, signal })
    if (!size) return logSnapshot({ kind: 'not_copied', why: TOO_LARGE }, log, { project, task })
    await onBegin?.(size)
    await rm(aside, { recursive: true, force: true })
    await mkdir(aside, { recursive: true, mode: 0o700 })
    for (const name of await readdir(project)) {
      const [from, to] = [
        { root: project, path: name },
        { root: aside, path: name },
      ]
      await copyInside(from, to, { mode: constants.COPYFILE_FICLONE, isCopied, signal })
    }
    await rename(aside, path)
    return logSnapshot({ kind: 'copied', path, files: size.files }, log, { project, task })
  } catch (thrown) {
    await rm(aside, { recursive: true, force: true })
    signal?.throwIfAborted()
    return logSnapshot({ kind: 'not_copied', why: messageOf(thrown) }, log, { project, task })
  }
}

const TOO_LARGE = `it has more than ${MOST_FILES.toLocaleString('en')} files or ${MOST_BYTES / 1_000_000} MB`

/** Removes snapshots that are older than `before`. Returns how many. */
export async function pruneSnapshots(root: string, before: number): Promise<number> {
  let count = 0
  const folder = join(root, 'snapshots')
  for (const project of await readdir(folder).catch(() => [])) {
    for (const name of await readdir(join(folder, project)).catch(() => [])) {
      const path = join(folder, project, name)
      // The files have the times of the project; only the change time of the snapshot's own directory says when it was made.
      if (((await lstat(path).catch(() => undefined))?.ctimeMs ?? before) >= before) continue
      await rm(path, { recursive: true, force: true })
      count += 1
    }
  }
  return count
}

type IsCopied = (name: string, stats: Stats) => boolean

/** Sockets and pipes have no content to copy. A folder of pcc is known by its inode: links may lead to it. */
async function chooseCopied(own: readonly string[]): Promise<IsCopied> {
  const found = await Promise.all(own.map(folder => stat(folder).catch(() => undefined)))
  const inodes = new Set(found.flatMap(stats => (stats ? [inodeOf(stats)] : [])))
  return (name, stats) =>
    !LEFT_OUT.has(name) &&
    (stats.isFile() || stats.isSymbolicLink() || (stats.isDirectory() && !inodes.has(inodeOf(stats))))
}

function inodeOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`
}

/** Undefined as soon as there is more than is copied. */
async function measureCopied(
  project: string,
  { isCopied, signal }: { isCopied: IsCopied; signal?: AbortSignal | undefined },
): Promise<ProjectSize | undefined> {
  const size: ProjectSize = { files: 0, bytes: 0 }
  const open = [project]
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for await (const { name } of await opendir(folder)) {
      signal?.throwIfAborted()
      const path = join(folder, name)
      const stats = await lstat(path)
      if (!isCopied(name, stats)) continue
      if (stats.isDirectory()) open.push(path)
      if (!stats.isFile()) continue
      size.files += 1
      size.bytes += stats.size
      if (size.files > MOST_FILES || size.bytes > MOST_BYTES) return undefined
    }
  }
  return size
}

async function countFiles(path: string, isCopied: IsCopied): Promise<number> {
  return (await measureCopied(path, { isCopied }))?.files ?? MOST_FILES
}

function logSnapshot(
  snapshot: ProjectSnapshot,
  log: WorktreeDeps['log'],
  subject: { project: string; task: string },
): ProjectSnapshot {
  log.info({ ...subject, ...snapshot }, 'a project without git is worked in itself')
  return snapshot
}
