import { existsSync } from 'node:fs'
import { copyFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { crashPoint } from '../../../base/crash-point.ts'
import { git } from '../../git/git.ts'
import { statusOf } from '../status.ts'
import type { Checkout } from './checkouts.ts'
import { blockedBy, underWay } from './in-the-way.ts'
import { freeIndexLock, takeIndexLock } from './index-lock.ts'
import { ownIndex, rollBack } from './repair-checkout.ts'

/** `raced`: the target is not where it was any more, and nothing was changed. */
export type Moved = { kind: 'moved' } | { kind: 'raced' } | { kind: 'blocked'; why: string }

export interface Move {
  branch: string
  from: string
  to: string
  /** For the reflog. */
  message: string
}

/**
 * Moves a branch together with the checkout that it is in. Under git's own lock: the files first, then the branch, then the
 * index, so that whoever dies in between leaves a branch that either has not moved at all, with files that can be put back, or
 * has moved, with files that are as it says (repair-checkout.ts).
 */
export async function updateCheckout(checkout: Checkout, move: Move): Promise<Moved> {
  const { own, top, standing } = checkout
  if (standing) return { kind: 'blocked', why: underWay(checkout, standing) }
  if (!(await takeIndexLock(own, move.from, move.to))) {
    return { kind: 'blocked', why: `another git command is at work in ${top}: ${join(own, 'index.lock')} is there` }
  }
  try {
    return await underLock(checkout, move)
  } finally {
    await freeIndexLock(own)
  }
}

async function underLock(checkout: Checkout, { branch, from, to, message }: Move): Promise<Moved> {
  const { top, own } = checkout
  const status = await statusOf(top, 'no')
  if (typeof status === 'string') return { kind: 'blocked', why: status }
  if (status.branch !== branch || status.commit !== from) return { kind: 'raced' }
  const why = await blockedBy(status, { top, from, to })
  if (why !== undefined) return { kind: 'blocked', why }
  const index = ownIndex(own)
  if (existsSync(join(own, 'index'))) await copyFile(join(own, 'index'), index)
  const written = await writeFiles({ top, index, from, to })
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
  await rename(index, join(own, 'index'))
  return { kind: 'moved' }
}

/** A file that was touched and not changed is one of which git has to convince itself first; that takes a call of its own. */
async function writeFiles({ top, index, from, to }: { top: string; index: string; from: string; to: string }) {
  const env = { GIT_INDEX_FILE: index }
  const written = await git(top, ['read-tree', '-m', '-u', from, to], { env })
  if (written.ok) return written
  await git(top, ['update-index', '-q', '--refresh'], { env })
  return git(top, ['read-tree', '-m', '-u', from, to], { env })
}
