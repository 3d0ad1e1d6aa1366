import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import { encodeNames } from '../../base/names.ts'
import type { MergeQueueKey } from '../../store/task-stores.ts'
import { type CheckoutStatus, type GitOperation, installIndex, readCheckoutStatus } from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { readBranchTips } from '../git/refs.ts'
import {
  type BranchCheckout,
  findCheckouts,
  freeIndexLock,
  openIndexCopy,
  rollBack,
  takeIndexLock,
} from './target-checkout.ts'

export interface TargetMove extends MergeQueueKey {
  from: string
  to: string
  message: string
  /** The worktrees of tasks in the repository. */
  places: readonly string[]
}

/**
 * Moves a branch forward from the expected commit to a descendant, together with the checkout that it is in. If a person has moved
 * the branch meanwhile, nothing happens and they lose nothing.
 */
export async function moveTarget(move: TargetMove): Promise<TargetMoveResult> {
  const { repository, target, from, to, message, places } = move
  const checkouts = await findCheckouts(repository, target, places)
  if (!checkouts) return { kind: 'blocked', why: unknownCheckouts(target) }
  const [checkout, ...others] = checkouts
  if (checkout && others.length > 0) return { kind: 'blocked', why: checkedOutTwice(target, [checkout, ...others]) }
  if (checkout) return updateCheckout(checkout, { branch: target, from, to, message })
  const moved = await git(repository, ['update-ref', '-m', message, `refs/heads/${target}`, to, from])
  if (moved.ok) return { kind: 'moved' }
  if ((await readBranchTips(repository, [target])).get(target) !== from) return { kind: 'raced' }
  return { kind: 'blocked', why: `the branch ${target} cannot be moved: ${moved.stderr.trim()}` }
}

/** Why the target cannot be moved now; undefined if it can. Checked before any row is changed. */
export async function whyTargetBlocked({
  repository,
  target,
  from,
  to,
  places,
}: Omit<TargetMove, 'message'>): Promise<Blocked | undefined> {
  const checkouts = await findCheckouts(repository, target, places)
  if (!checkouts) return { why: unknownCheckouts(target) }
  const [checkout, ...others] = checkouts
  if (!checkout) return undefined
  if (others.length > 0) return { why: checkedOutTwice(target, [checkout, ...others]) }
  return whyCheckoutBlocked(checkout, from, to)
}

function unknownCheckouts(target: string): string {
  return `git cannot tell where ${target} is checked out (git worktree list)`
}

function checkedOutTwice(target: string, checkouts: readonly BranchCheckout[]): string {
  return `${target} is checked out in more than one place: ${checkouts.map(({ top }) => top).join(', ')}`
}

/** Why a target cannot be moved now. `overlaps`: only because of files that this move touches; another move may be possible. */
interface Blocked {
  why: string
  overlaps?: boolean
}

/** `raced`: somebody else has moved the target, and nothing was changed. */
type TargetMoveResult = { kind: 'moved' } | { kind: 'raced' } | ({ kind: 'blocked' } & Blocked)

export interface CheckoutMove {
  branch: string
  from: string
  to: string
  /** For the reflog. */
  message: string
}

/**
 * Moves a branch together with the checkout that it is in, under git's own lock: the files first, then the branch, then the
 * index. A death in between leaves a branch that either has not moved, with files that can be put back, or has moved, with files
 * that match it (`repairCheckout`).
 */
async function updateCheckout(checkout: BranchCheckout, move: CheckoutMove): Promise<TargetMoveResult> {
  const { own, top, standing } = checkout
  if (standing) return { kind: 'blocked', why: operationUnderWay(checkout, standing) }
  if (!(await takeIndexLock(own, move.from, move.to))) {
    return { kind: 'blocked', why: `another git command is at work in ${top}: ${join(own, 'index.lock')} is there` }
  }
  try {
    return await underLock(checkout, move)
  } finally {
    await freeIndexLock(own)
  }
}

async function underLock(
  checkout: BranchCheckout,
  { branch, from, to, message }: CheckoutMove,
): Promise<TargetMoveResult> {
  const { top, own } = checkout
  const status = await readCheckoutStatus(top, 'no')
  if (typeof status === 'string') return { kind: 'blocked', why: status }
  if (status.branch !== branch || status.commit !== from) return { kind: 'raced' }
  const blocked = await blockedBy(status, { top, from, to })
  if (blocked) return { kind: 'blocked', ...blocked }
  await using index = await openIndexCopy(own)
  const written = await writeFiles({ top, index: index.file, from, to })
  if (!written.ok) {
    await rollBack(checkout, from, to)
    return { kind: 'blocked', why: `git cannot bring ${top} to the new commit: ${written.stderr.trim()}` }
  }
  crashPoint('merge.after-files')
  const moved = await git(top, ['update-ref', '-m', message, `refs/heads/${branch}`, to, from])
  if (!moved.ok) {
    await rollBack(checkout, from, to)
    return { kind: 'raced' }
  }
  crashPoint('merge.before-index')
  if (!(await installIndex(own, index.file))) throw new Error(`the index of ${top} cannot be written`)
  return { kind: 'moved' }
}

/** A file that was touched but not changed makes `read-tree` fail until the index is refreshed, which takes a call of its own. */
async function writeFiles({ top, index, from, to }: { top: string; index: string; from: string; to: string }) {
  const env = { GIT_INDEX_FILE: index }
  const written = await git(top, ['read-tree', '-m', '-u', from, to], { env })
  if (written.ok) return written
  await git(top, ['update-index', '-q', '--refresh'], { env })
  return git(top, ['read-tree', '-m', '-u', from, to], { env })
}

/** Why a checkout cannot be moved from one commit to another now, in words for the person; undefined if it can. */
async function whyCheckoutBlocked(checkout: BranchCheckout, from: string, to: string): Promise<Blocked | undefined> {
  const { top, standing } = checkout
  if (standing) return { why: operationUnderWay(checkout, standing) }
  const status = await readCheckoutStatus(top, 'no')
  return typeof status === 'string' ? { why: status } : blockedBy(status, { top, from, to })
}

/** The reason for the person when a git operation is unfinished there. */
function operationUnderWay({ top }: BranchCheckout, { kind }: GitOperation): string {
  return `a ${kind} is under way in ${top}: finish or abort it`
}

/**
 * Why a checkout without an unfinished git operation cannot be moved, given its status. Changes that are not committed are in the
 * way only where the move touches the same files: `read-tree -m` leaves every other file and its index entry as they are.
 */
async function blockedBy(
  { loose }: CheckoutStatus,
  { top, from, to }: { top: string; from: string; to: string },
): Promise<Blocked | undefined> {
  const inTheWay = loose.length === 0 ? [] : await findOverlap(loose, { top, from, to })
  if (inTheWay.length > 0) {
    const why = `${top} has changes that are not committed: ${nameSome(inTheWay)}. Commit or stash them`
    return { why, overlaps: true }
  }
  const untracked = await findUntrackedInTheWay(top, from, to)
  if (untracked.length === 0) return undefined
  const why = `files in ${top} that git does not know would be overwritten: ${nameSome(untracked)}. Move them away`
  return { why, overlaps: true }
}

/** The changed paths that the move touches, or that are a folder of such a path, or below one. */
async function findOverlap(
  loose: readonly string[],
  { top, from, to }: { top: string; from: string; to: string },
): Promise<string[]> {
  const { ok, stdout } = await git(top, ['diff-tree', '-r', '--name-only', '--no-renames', '-z', from, to])
  if (!ok) return [...loose]
  const touched = splitByNul(stdout)
  const names = new Set(touched.flatMap(path => [path, ...parentPaths(path)]))
  const files = new Set(touched)
  return loose.filter(path => names.has(path) || parentPaths(path).some(folder => files.has(folder)))
}

/** Files that the new commit adds and that exist already: also ignored ones, which git itself would overwrite. */
async function findUntrackedInTheWay(top: string, from: string, to: string): Promise<string[]> {
  const args = ['diff-tree', '-r', '--name-status', '--diff-filter=AD', '--no-renames', '-z', from, to]
  const fields = splitByNul((await git(top, args)).stdout)
  const deleted = new Set(fields.filter((_, index) => index % 2 === 1 && fields[index - 1] === 'D'))
  const added = fields.filter((_, index) => index % 2 === 1 && fields[index - 1] === 'A')
  const inTheWay: string[] = []
  for (const path of added) {
    // A file stands where the new commit needs a folder.
    const blocking = parentPaths(path).find(part => !deleted.has(part) && kindAt(join(top, part)) === 'file')
    if (blocking !== undefined) inTheWay.push(blocking)
    else if (kindAt(join(top, path)) === 'file') inTheWay.push(path)
    else if (kindAt(join(top, path)) === 'folder') inTheWay.push(...(await listUntracked(top, path)))
  }
  return [...new Set(inTheWay)]
}

/** Without an exclude option git lists ignored files as well. */
async function listUntracked(top: string, path: string): Promise<string[]> {
  return splitByNul((await git(top, ['ls-files', '--others', '-z', '--', path])).stdout)
}

/** `a/b/c` gives `a` and `a/b`. */
function parentPaths(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
}

function kindAt(path: string): 'file' | 'folder' | undefined {
  try {
    const stats = lstatSync(encodeNames(path), { throwIfNoEntry: false })
    return stats && (stats.isDirectory() ? 'folder' : 'file')
  } catch {
    return undefined // one of its parents is a file, which is checked by itself
  }
}

function splitByNul(text: string): string[] {
  return text.split('\0').filter(path => path !== '')
}

const MOST_NAMED = 5

function nameSome(paths: readonly string[]): string {
  const more = paths.length - MOST_NAMED
  return `${paths.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
