import { existsSync } from 'node:fs'
import { copyFile, cp, lstat, mkdir, mkdtemp, readFile, readlink, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { git } from '../../git/git.ts'
import { ask, isWithin } from '../refs.ts'
import { outlastGit } from '../work/outlast-git.ts'
import type { Checkout } from './checkouts.ts'
import { freeIndexLock, ourIndexLock } from './index-lock.ts'

/**
 * Mends a checkout in which one of us died while it was moved to another commit. The lock says so and kept everybody out
 * meanwhile. Where the branch has moved, the files were there before it: the index follows. Where it has not, files that the
 * new commit brought go back to what they were; what a person wrote since stays as it is. True where there was something.
 */
export async function repairCheckout(checkout: Checkout): Promise<boolean> {
  const lock = await ourIndexLock(checkout.own)
  if (!lock || lock.isHeld) return false
  await outlastGit(checkout.top, [`${ownIndex(checkout.own)}.lock`])
  const tip = await ask(checkout.top, ['rev-parse', '--verify', '--quiet', 'HEAD'])
  if (tip !== undefined && (await isWithin(checkout.top, lock.to, tip))) await followBranch(checkout, tip)
  else await rollBack(checkout, lock.from, lock.to)
  await freeIndexLock(checkout.own)
  return true
}

/** Where the index of the new commit is written before it takes the place of the checkout's. */
export function ownIndex(own: string): string {
  return join(own, 'pcc-index')
}

async function followBranch({ top, own }: Checkout, tip: string): Promise<void> {
  const env = { GIT_INDEX_FILE: ownIndex(own) }
  if (existsSync(join(own, 'index'))) await copyFile(join(own, 'index'), ownIndex(own))
  await git(top, ['read-tree', '--reset', tip], { env })
  await git(top, ['update-index', '-q', '--refresh'], { env })
  await rename(ownIndex(own), join(own, 'index'))
}

/** Puts back what `to` brought in place of what `from` had, as far as nobody else has touched it. */
export async function rollBack({ top, own }: Checkout, from: string, to: string): Promise<void> {
  await rm(ownIndex(own), { force: true })
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
    for (const path of touched) await putBack(join(before, path), join(top, path))
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

interface Sides {
  top: string
  before: string
  after: string
}

/** It is as the new commit has it, or the beginning of that, or not there at all: only we can have left it so. */
async function isFromUs(path: string, { top, before, after }: Sides): Promise<boolean> {
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

async function putBack(from: string, to: string): Promise<void> {
  const stats = await lstat(from).catch(() => undefined)
  if (!stats || stats.isDirectory()) return
  await mkdir(dirname(to), { recursive: true })
  await cp(from, to, { verbatimSymlinks: true })
}
