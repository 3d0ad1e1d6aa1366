import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  copyFile,
  cp,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isAlive, startTimeOf } from '../../base/process/process-table.ts'
import { findGitOperationIn, type GitOperation, waitForOrphanedGit } from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { findGitFolder } from '../git/git-folder.ts'
import { askGitLine, isAncestorOrSame } from '../git/refs.ts'

/** A checkout of a branch: the main one of the repository, or another worktree. */
export interface BranchCheckout {
  top: string
  /** Where git keeps its HEAD and index. */
  own: string
  /** What stands half done there: it will come back to the branch, wherever HEAD is meanwhile. */
  standing: GitOperation | undefined
}

/**
 * Where a branch is checked out. There is at most one such place unless somebody forced a second. Undefined where git cannot
 * tell: a branch must not be moved under a checkout that nobody has seen.
 */
export async function findCheckouts(repository: string, branch: string): Promise<BranchCheckout[] | undefined> {
  const { ok, stdout } = await git(repository, ['worktree', 'list', '--porcelain'])
  if (!ok) return undefined
  const found: BranchCheckout[] = []
  for (const block of stdout.split('\n\n')) {
    const lines = block.split('\n')
    const top = lines.find(line => line.startsWith('worktree '))?.slice('worktree '.length)
    const isOn = lines.includes(`branch refs/heads/${branch}`)
    // One that is on another branch is of no interest; one that is on none may come back to this one.
    if (top === undefined || !(isOn || lines.includes('detached')) || !existsSync(top)) continue
    const own = (await findGitFolder(top))?.own
    const standing = own === undefined ? undefined : await findGitOperationIn(own)
    if (own !== undefined && (isOn || standing?.branch === branch)) found.push({ top, own, standing })
  }
  return found
}

/** What a lock of ours says: which way the checkout was to go, and who was at it. */
export interface IndexLock {
  from: string
  to: string
  /** Whoever took it is at work. */
  isHeld: boolean
}

/**
 * Takes the lock that git itself takes before it changes a checkout's index, so that nobody commits there while files and branch
 * do not fit. It says that it is ours: after a crash it is known whose it is, and how far things can have come. False where it
 * is taken.
 */
export async function takeIndexLock(own: string, from: string, to: string): Promise<boolean> {
  const draft = join(own, `pcc-lock-${randomUUID()}`)
  const words = [LOCK_WORD, from, to, process.pid, (await startTimeOf(process.pid)) ?? '']
  await writeFile(draft, `${words.join(' ')}\n`)
  try {
    await link(draft, lockOf(own)) // with its words from the first moment on
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** The lock of a checkout, where one of us has left it. */
export async function readIndexLock(own: string): Promise<IndexLock | undefined> {
  const text = await readFile(lockOf(own), 'latin1').catch(() => '')
  const [word, from, to, pid, ...start] = text.trimEnd().split(' ')
  if (word !== LOCK_WORD || from === undefined || to === undefined) return undefined
  return { from, to, isHeld: await isAlive({ pid: Number(pid), startTime: start.join(' ') }) }
}

/** Gives the lock back. */
export function freeIndexLock(own: string): Promise<void> {
  return rm(lockOf(own), { force: true })
}

const LOCK_WORD = 'pcc-merge'

function lockOf(own: string): string {
  return join(own, 'index.lock')
}

/**
 * Mends a checkout in which one of us died while it was moved to another commit. The lock says so and kept everybody out
 * meanwhile. Where the branch has moved, the files were there before it: the index follows. Where it has not, files that the
 * new commit brought go back to what they were; what a person wrote since stays as it is. True where there was something.
 */
export async function repairCheckout(checkout: BranchCheckout): Promise<boolean> {
  const lock = await readIndexLock(checkout.own)
  if (!lock || lock.isHeld) return false
  await waitForOrphanedGit(checkout.top, [`${newIndexFile(checkout.own)}.lock`])
  const tip = await askGitLine(checkout.top, ['rev-parse', '--verify', '--quiet', 'HEAD'])
  if (tip !== undefined && (await isAncestorOrSame(checkout.top, lock.to, tip))) await followBranch(checkout, tip)
  else await rollBack(checkout, lock.from, lock.to)
  await freeIndexLock(checkout.own)
  return true
}

/** Where the index of the new commit is written before it takes the place of the checkout's. */
export function newIndexFile(own: string): string {
  return join(own, 'pcc-index')
}

async function followBranch({ top, own }: BranchCheckout, tip: string): Promise<void> {
  const env = { GIT_INDEX_FILE: newIndexFile(own) }
  if (existsSync(join(own, 'index'))) await copyFile(join(own, 'index'), newIndexFile(own))
  await git(top, ['read-tree', '--reset', tip], { env })
  await git(top, ['update-index', '-q', '--refresh'], { env })
  await rename(newIndexFile(own), join(own, 'index'))
}

/** Puts back what `to` brought in place of what `from` had, as far as nobody else has touched it. */
export async function rollBack({ top, own }: BranchCheckout, from: string, to: string): Promise<void> {
  await rm(newIndexFile(own), { force: true })
  const args = ['diff-tree', '-r', '--name-only', '--no-renames', '-z', from, to]
  const paths = (await git(top, args)).stdout.split('\0').filter(path => path !== '')
  const aside = await mkdtemp(join(own, 'pcc-aside-'))
  try {
    const [before, after] = [
      await laidOut(top, join(aside, 'before'), from),
      await laidOut(top, join(aside, 'after'), to),
    ]
    const touched: string[] = []
    for (const path of paths) if (await isFromUs(path, { top, before, after })) touched.push(path)
    // First everything goes that is too much: a folder may have to become a file again.
    for (const path of touched) await removeFile(top, path)
    for (const path of touched) await copyBack(join(before, path), join(top, path))
  } finally {
    await rm(aside, { recursive: true, force: true })
  }

  /** The files of a commit in which both differ, as a checkout would have them. */
  async function laidOut(checkout: string, folder: string, commit: string): Promise<string> {
    await mkdir(folder)
    const env = { GIT_INDEX_FILE: `${folder}-index` }
    const there = await git(checkout, ['ls-tree', '-r', '--name-only', '-z', '--full-tree', commit])
    const has = new Set(there.stdout.split('\0'))
    await git(checkout, ['read-tree', commit], { env })
    const input = paths.filter(path => has.has(path)).join('\0')
    await git(checkout, ['checkout-index', '--force', `--prefix=${folder}/`, '-z', '--stdin'], { env, input })
    return folder
  }
}

interface CheckoutSides {
  top: string
  before: string
  after: string
}

/** It is as the new commit has it, or the beginning of that, or not there at all: only we can have left it so. */
async function isFromUs(path: string, { top, before, after }: CheckoutSides): Promise<boolean> {
  const [now, old, fresh] = await Promise.all([top, before, after].map(root => contentOf(root, path)))
  if (now === undefined) return old !== undefined
  if (now === 'folder' || (old instanceof Buffer && now.equals(old))) return false
  return fresh instanceof Buffer && fresh.subarray(0, now.length).equals(now)
}

/** Kind, mode and bytes in one. What lies behind a link that is where a folder should be is not there. */
async function contentOf(root: string, path: string): Promise<Buffer | 'folder' | undefined> {
  const file = join(root, path)
  const stats = (await isReached(root, path)) ? await lstat(file).catch(() => undefined) : undefined
  if (!stats) return undefined
  if (stats.isDirectory()) return 'folder'
  if (stats.isSymbolicLink()) return Buffer.from(`link:${await readlink(file)}`)
  return Buffer.concat([Buffer.from(stats.mode & 0o100 ? 'run:' : 'file:'), await readFile(file)])
}

/** Everything above it is a real folder. */
async function isReached(root: string, path: string): Promise<boolean> {
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
    if (!(await lstat(join(root, folder)).catch(() => undefined))?.isDirectory()) return false
  }
  return true
}

async function removeFile(top: string, path: string): Promise<void> {
  if (!(await isReached(top, path))) return
  await rm(join(top, path), { force: true })
  // Folders that came with it go as well, as far as nothing else is in them.
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
    const isGone = await rmdir(join(top, folder)).then(
      () => true,
      () => false,
    )
    if (!isGone) return
  }
}

async function copyBack(from: string, to: string): Promise<void> {
  const stats = await lstat(from).catch(() => undefined)
  if (!stats || stats.isDirectory()) return
  await mkdir(dirname(to), { recursive: true })
  await cp(from, to, { verbatimSymlinks: true })
}
