import { randomUUID } from 'node:crypto'
import { existsSync, lstatSync } from 'node:fs'
import { link, lstat, mkdir, mkdtemp, readlink, realpath, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { readRegularFile } from '../../base/files.ts'
import { isInside } from '../../base/is-inside.ts'
import { isAlive, startTimeOf } from '../../base/process/process-table.ts'
import { copyInside, openRealFolder, removeInside } from '../../base/real-folder.ts'
import {
  findGitOperationIn,
  type GitOperation,
  installIndex,
  readIndexFile,
  waitForOrphanedGit,
} from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { findGitFolder } from '../git/git-folder.ts'
import { askGitLine, isAncestorOrSame } from '../git/refs.ts'

/** A checkout of a branch: the main one of the repository, or another worktree. */
export interface BranchCheckout {
  top: string
  /** The folder where git keeps its HEAD and index. */
  own: string
  /** An unfinished git operation, which will return to the branch, wherever HEAD is meanwhile. */
  standing: GitOperation | undefined
}

/**
 * The checkouts of a branch. There is at most one unless somebody forced a second. Undefined if git cannot tell: a branch must
 * not be moved under a checkout that is not known. `places` are the worktrees of tasks: an agent that writes the branch into the HEAD of its
 * own makes it no checkout of the branch.
 */
export async function findCheckouts(
  repository: string,
  branch: string,
  places: readonly string[],
): Promise<BranchCheckout[] | undefined> {
  const { ok, stdout } = await git(repository, ['worktree', 'list', '--porcelain'])
  if (!ok) return undefined
  const found: BranchCheckout[] = []
  const ofTasks = await Promise.all(places.map(realOrSame))
  for (const block of stdout.split('\n\n')) {
    const lines = block.split('\n')
    const top = lines.find(line => line.startsWith('worktree '))?.slice('worktree '.length)
    const isOn = lines.includes(`branch refs/heads/${branch}`)
    // A checkout on another branch does not matter; a detached one may return to this branch.
    if (top === undefined || !(isOn || lines.includes('detached')) || !existsSync(top)) continue
    const real = await realOrSame(top)
    if (ofTasks.some(place => isInside(real, place))) continue
    const own = (await findGitFolder(top))?.own
    const standing = own === undefined ? undefined : await findGitOperationIn(own)
    if (own !== undefined && (isOn || standing?.branch === branch)) found.push({ top, own, standing })
  }
  return found
}

function realOrSame(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

/** The content of a lock of ours: from which commit the checkout moves to which, and whether its process lives. */
export interface IndexLock {
  from: string
  to: string
  /** The process that took the lock is still alive. */
  isHeld: boolean
}

/**
 * Takes the lock that git itself takes before it changes a checkout's index, so that nobody commits there while files and branch
 * do not match. The lock file says that it is ours and what was being done, which is needed after a crash. False if the lock
 * is already taken.
 */
export async function takeIndexLock(own: string, from: string, to: string): Promise<boolean> {
  const draft = join(own, `pcc-lock-${randomUUID()}`)
  const words = [LOCK_WORD, from, to, process.pid, (await startTimeOf(process.pid)) ?? '']
  await writeFile(draft, `${words.join(' ')}\n`, { flag: 'wx' })
  try {
    await link(draft, indexLockFile(own)) // the lock has its content from the first moment
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** The lock of a checkout that says that a daemon of ours has taken it. An agent can write such a lock too. */
export async function readIndexLock(own: string): Promise<IndexLock | undefined> {
  const read = readRegularFile(indexLockFile(own), MOST_OF_LOCK, { follow: false })
  const text = (await read.catch(() => '')).toString('latin1')
  const [word, from, to, pid, ...start] = text.trimEnd().split(' ')
  // Git would take other words for its options.
  if (word !== LOCK_WORD || !isCommitId(from) || !isCommitId(to)) return undefined
  return { from, to, isHeld: await isAlive({ pid: Number(pid), startTime: start.join(' ') }) }
}

export function freeIndexLock(own: string): Promise<void> {
  return rm(indexLockFile(own), { force: true })
}

const LOCK_WORD = 'pcc-merge'
const MOST_OF_LOCK = 1_000

function isCommitId(word: string | undefined): word is string {
  return word !== undefined && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(word)
}

function indexLockFile(own: string): string {
  return join(own, 'index.lock')
}

/**
 * Repairs a checkout that was being moved to another commit when the daemon died. The lock says so, and kept others out
 * meanwhile. If the branch has moved, the files were already written before it, and the index follows. If it has not, files that
 * the new commit brought go back to what they were; what a person wrote since stays. True if there was something to repair.
 *
 * An agent can write the lock, so it counts only where it agrees with what no agent can write: `landing` are the commits to which the store says
 * that the branch was being moved. Any other lock is somebody else's, and stays.
 */
export async function repairCheckout(checkout: BranchCheckout, landing: readonly string[]): Promise<boolean> {
  const { top, own } = checkout
  const lock = await readIndexLock(own)
  if (!lock || lock.isHeld || !landing.includes(lock.to)) return false
  await waitForOrphanedGit(top, [])
  const tip = await askGitLine(top, ['rev-parse', '--verify', '--quiet', 'HEAD'])
  if (tip === undefined || !(await isAncestorOrSame(top, lock.from, lock.to))) return false
  if (await isAncestorOrSame(top, lock.to, tip)) await followBranch(checkout, lock.from, tip)
  else if (tip === lock.from) await rollBack(checkout, lock.from, lock.to)
  else return false
  await freeIndexLock(own)
  return true
}

/** A copy of a checkout's index, in a folder that no agent sees: git writes through a link that is put in the place of its index. */
export async function openIndexCopy(own: string): Promise<{ file: string } & AsyncDisposable> {
  const scratch = await mkdtemp(join(tmpdir(), 'pcc-index-'))
  const dispose = () => rm(scratch, { recursive: true, force: true })
  try {
    const file = join(scratch, 'index')
    if (lstatSync(join(own, 'index'), { throwIfNoEntry: false })) await writeFile(file, await readIndexFile(own))
    return { file, [Symbol.asyncDispose]: dispose }
  } catch (thrown) {
    await dispose()
    throw thrown
  }
}

/** What a person has staged in files that the branch did not touch stays staged. */
async function followBranch({ top, own }: BranchCheckout, from: string, tip: string): Promise<void> {
  await using index = await openIndexCopy(own)
  const env = { GIT_INDEX_FILE: index.file }
  const followed = await git(top, ['read-tree', '-i', '-m', from, tip], { env })
  if (!followed.ok) await git(top, ['read-tree', '--reset', tip], { env })
  await git(top, ['update-index', '-q', '--refresh'], { env })
  if (!(await installIndex(own, index.file))) throw new Error(`the index of ${top} cannot be written`)
}

/** Restores the files of `from` where those of `to` were written, as far as nobody else has changed them. */
export async function rollBack({ top }: Pick<BranchCheckout, 'top'>, from: string, to: string): Promise<void> {
  const args = ['diff-tree', '-r', '--name-only', '--no-renames', '-z', from, to]
  const paths = (await git(top, args)).stdout.split('\0').filter(path => path !== '' && !isForbiddenPath(path))
  // No agent sees it, or it would write what goes back.
  const aside = await mkdtemp(join(tmpdir(), 'pcc-aside-'))
  try {
    const [before, after] = [
      await checkOutFiles(top, join(aside, 'before'), from),
      await checkOutFiles(top, join(aside, 'after'), to),
    ]
    const touched: string[] = []
    for (const path of paths) if (await isLeftByMove(path, { top, before, after })) touched.push(path)
    // All files are removed first: a folder may have to become a file again.
    for (const path of touched) await removeFile(top, path)
    for (const path of touched) await copyBack(before, top, path)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }

  /** Writes the files that differ between both commits into a folder, as a checkout of `commit` would have them. */
  async function checkOutFiles(checkout: string, folder: string, commit: string): Promise<string> {
    await mkdir(folder)
    const env = { GIT_INDEX_FILE: `${folder}-index` }
    const listed = await git(checkout, ['ls-tree', '-r', '--name-only', '-z', '--full-tree', commit])
    const existing = new Set(listed.stdout.split('\0'))
    await git(checkout, ['read-tree', commit], { env })
    const input = paths.filter(path => existing.has(path)).join('\0')
    await git(checkout, ['checkout-index', '--force', `--prefix=${folder}/`, '-z', '--stdin'], { env, input })
    return folder
  }
}

/** A path that git refuses to check out, and that a forged tree may hold. Some file systems ignore characters without width, and know short names. */
export function isForbiddenPath(path: string): boolean {
  return path.split('/').some(name => /^(\.git|git~\d+|\.\.?|)$/i.test(name.replaceAll(/[\p{Cf}]/gu, '')))
}

interface CheckoutSides {
  top: string
  before: string
  after: string
}

/** Whether a file is as the new commit has it, or the beginning of that, or missing: only an interrupted move leaves it so. */
async function isLeftByMove(path: string, { top, before, after }: CheckoutSides): Promise<boolean> {
  const [now, old, fresh] = await Promise.all([top, before, after].map(root => readContent(root, path)))
  if (now === undefined) return old !== undefined
  if (now === 'other' || (old instanceof Buffer && now.equals(old))) return false
  return fresh instanceof Buffer && fresh.subarray(0, now.length).equals(now)
}

/** No file of a commit is larger that anybody could merge. */
const MOST_BYTES = 2_000_000_000

/**
 * Kind, mode and bytes of a file in one buffer; `other` for what no commit holds. A file behind a link that stands where a folder should be
 * counts as missing.
 */
async function readContent(root: string, path: string): Promise<Buffer | 'other' | undefined> {
  const file = join(root, path)
  const stats = (await isReachable(root, path)) ? await lstat(file).catch(() => undefined) : undefined
  if (!stats) return undefined
  if (stats.isDirectory()) return 'other'
  if (stats.isSymbolicLink()) return Buffer.from(`link:${await readlink(file)}`)
  const bytes = await readRegularFile(file, MOST_BYTES).catch(() => undefined)
  return bytes ? Buffer.concat([Buffer.from(stats.mode & 0o100 ? 'run:' : 'file:'), bytes]) : 'other'
}

/** Whether every parent of the path is a real folder. */
async function isReachable(root: string, path: string): Promise<boolean> {
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
    if (!(await lstat(join(root, folder)).catch(() => undefined))?.isDirectory()) return false
  }
  return true
}

async function removeFile(top: string, path: string): Promise<void> {
  if (!(await removeInside(top, path))) return
  // Folders that came with the file are removed too, if nothing else is in them.
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
    await using parent = await openRealFolder(top, dirname(folder))
    const isGone = await rmdir(parent?.at(basename(folder)) ?? '').then(
      () => true,
      () => false,
    )
    if (!isGone) return
  }
}

async function copyBack(before: string, top: string, path: string): Promise<void> {
  const stats = await lstat(join(before, path)).catch(() => undefined)
  if (stats && !stats.isDirectory()) await copyInside({ root: before, path }, { root: top, path })
}
