import { constants, type Dirent } from 'node:fs'
import { lstat, mkdir, opendir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { copyInside } from '../../base/real-folder.ts'
import { projectFolderName, type WorktreeDeps } from './worktree.ts'

/** A larger project is not copied: the disk is the person's. */
const MOST_BYTES = 1_000_000_000
const MOST_FILES = 100_000

/** Folders that are not copied: programs can fill them again, and a repository keeps its own history. */
const LEFT_OUT = new Set(['.git', 'node_modules', '.venv', 'venv', 'target', 'vendor', '__pycache__', 'dist', 'build'])

export type ProjectSnapshot = { kind: 'copied'; path: string; files: number } | { kind: 'not_copied'; why: string }

/**
 * Copies a project without git before an agent works in it, so that a person can restore it by hand; on write where the file
 * system can. A project that is too large is not copied, and the result says so.
 */
export async function snapshotCopy(
  { project, task, attempt }: { project: string; task: string; attempt: number },
  { root, log }: Pick<WorktreeDeps, 'root' | 'log'>,
): Promise<ProjectSnapshot> {
  const path = join(root, 'snapshots', projectFolderName(project), `${task}-${attempt}`)
  if (await lstat(path).catch(() => undefined)) return { kind: 'copied', path, files: await countFiles(path) }
  const size = await countCopiedFiles(project)
  if (size === undefined) return logSnapshot({ kind: 'not_copied', why: TOO_LARGE }, log, { project, task })
  const aside = `${path}.pcc-copying`
  try {
    await rm(aside, { recursive: true, force: true })
    await mkdir(aside, { recursive: true, mode: 0o700 })
    for (const entry of await readdir(project, { withFileTypes: true })) {
      const [from, to] = [
        { root: project, path: entry.name },
        { root: aside, path: entry.name },
      ]
      if (isCopied(entry)) await copyInside(from, to, { mode: constants.COPYFILE_FICLONE, isCopied })
    }
    await rename(aside, path)
    return logSnapshot({ kind: 'copied', path, files: size }, log, { project, task })
  } catch (thrown) {
    await rm(aside, { recursive: true, force: true })
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

/** Sockets and pipes have no content to copy. */
function isCopied(entry: Dirent): boolean {
  return !LEFT_OUT.has(entry.name) && (entry.isFile() || entry.isDirectory() || entry.isSymbolicLink())
}

async function countCopiedFiles(project: string): Promise<number | undefined> {
  let [files, bytes] = [0, 0]
  const open = [project]
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for await (const entry of await opendir(folder)) {
      if (LEFT_OUT.has(entry.name)) continue
      if (entry.isDirectory()) open.push(join(folder, entry.name))
      if (!entry.isFile()) continue
      files += 1
      bytes += (await lstat(join(folder, entry.name))).size
      if (files > MOST_FILES || bytes > MOST_BYTES) return undefined
    }
  }
  return files
}

async function countFiles(path: string): Promise<number> {
  return (await countCopiedFiles(path)) ?? MOST_FILES
}

function logSnapshot(
  snapshot: ProjectSnapshot,
  log: WorktreeDeps['log'],
  subject: { project: string; task: string },
): ProjectSnapshot {
  log.info({ ...subject, ...snapshot }, 'a project without git is worked in itself')
  return snapshot
}
