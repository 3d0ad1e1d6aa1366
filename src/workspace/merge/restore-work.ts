import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Merge } from '../../domain/merge.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { type CheckoutStatus, findGitOperation, readCheckoutStatus, waitForOrphanedGit } from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { findGitFolder } from '../git/git-folder.ts'
import { committerEnv } from '../git/harden.ts'
import { askGitLine, isAncestorOrSame } from '../git/refs.ts'
import type { MergeDeps } from './merge-state.ts'

/**
 * Brings a task's worktree and branch back to the verified work. What it finds there beside it, commits and loose files, is kept
 * under a ref first, but for what we made of it ourselves: whoever died here may not have been alone. Gives why it could not.
 */
export async function restoreWork(
  merge: Merge,
  place: Worktree,
  isOurs: string | null = null,
): Promise<string | undefined> {
  const { head, branch } = merge
  if (head === null) return 'nobody knows which commit was verified'
  const [status, standing] = await Promise.all([readCheckoutStatus(place.top, 'all'), findGitOperation(place.top)])
  if (typeof status === 'string') return status
  const isThere = status.branch === branch && status.commit === head && !standing
  if (isThere && status.loose.length === 0) return undefined
  const problem = await keepWhatIsThere(status, { merge, place, isOurs })
  if (problem !== undefined) return problem
  if (standing || status.branch !== branch) {
    // Not --abort: it goes back to where git believes to have begun, and that may be half written.
    if (standing?.kind === 'rebase') await git(place.top, ['rebase', '--quit'])
    await removeRebaseState(place.top)
    await git(place.top, ['symbolic-ref', 'HEAD', `refs/heads/${branch}`])
  }
  const back = await git(place.top, ['reset', '--hard', '--quiet', head])
  if (!back.ok) return `${place.top} cannot be brought back to ${head.slice(0, 12)}: ${back.stderr.trim()}`
  if (status.loose.length > 0) await git(place.top, ['clean', '-d', '--force', '--quiet']) // it was kept above
  return undefined
}

interface KeepContext {
  merge: Merge
  place: Worktree
  isOurs: string | null
}

/** Gives why something could not be kept. */
async function keepWhatIsThere(
  status: CheckoutStatus,
  { merge, place, isOurs }: KeepContext,
): Promise<string | undefined> {
  const { repository, branch, head, task_id } = merge
  if (status.loose.length > 0 && !(await keepUncommitted(repository, place))) {
    return `what lies loose in ${place.top} cannot be kept, so it is left alone`
  }
  const tip =
    status.branch === branch
      ? status.commit
      : await askGitLine(repository, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`])
  for (const commit of new Set([tip, status.commit])) {
    const isKnown = commit === undefined || commit === isOurs || commit === head
    if (isKnown || (await isAncestorOrSame(repository, commit, head ?? ''))) continue
    const isKept = await keepCommitRef(repository, task_id, commit)
    if (!isKept) return `the commit ${commit} cannot be kept, so ${branch} is left alone`
  }
  return undefined
}

/** The same after a death: a git of ours may still be at it, or have left its locks. */
export async function restoreAfterDeath(merge: Merge, place: Worktree): Promise<string | undefined> {
  const own = (await findGitFolder(place.top))?.own
  if (own === undefined) return `${place.top} is no worktree any more`
  const branch = join(merge.repository, 'refs', 'heads', merge.branch)
  await waitForOrphanedGit(place.top, [join(own, 'index.lock'), join(own, 'HEAD.lock'), `${branch}.lock`])
  return restoreWork(merge, place, merge.result)
}

/** A rebase that died while it wrote its own files cannot even be given up by git. */
async function removeRebaseState(top: string): Promise<void> {
  const own = (await findGitFolder(top))?.own
  if (own === undefined) return
  for (const name of ['rebase-merge', 'rebase-apply', 'AUTO_MERGE']) {
    await rm(join(own, name), { recursive: true, force: true })
  }
}

/** Names a commit so that it stays, whatever happens to its branch; once for each commit. */
async function keepCommitRef(repository: string, task: string, commit: string): Promise<boolean> {
  const prefix = `refs/pcc/archive/${task}/`
  const kept = await git(repository, ['for-each-ref', '--format=%(objectname) %(refname)', prefix])
  const lines = kept.stdout.split('\n').filter(line => line !== '')
  if (lines.some(line => line.startsWith(`${commit} `))) return true
  const numbers = lines.map(line => Number(line.slice(line.lastIndexOf('/') + 1))).filter(Number.isInteger)
  // Made only where it is not there: somebody else may take the same number in the same moment.
  for (let number = Math.max(0, ...numbers) + 1; ; number += 1) {
    const made = await git(repository, ['update-ref', `${prefix}${number}`, commit, ZERO_ID])
    if (made.ok) return true
    if (number > Math.max(0, ...numbers) + 20) return false
  }
}

const ZERO_ID = '0'.repeat(40)

/**
 * Puts everything that is in a worktree and in no commit into one that stays, without touching the worktree. False where that
 * was not possible.
 */
async function keepUncommitted(repository: string, place: Worktree): Promise<boolean> {
  const own = (await findGitFolder(place.top))?.own
  if (own === undefined) return false
  const index = join(own, `pcc-keep-${randomUUID()}`)
  try {
    const env = { ...(await committerEnv(place.top)), GIT_INDEX_FILE: index }
    await git(place.top, ['read-tree', 'HEAD'], { env })
    if (!(await git(place.top, ['add', '-A', '.'], { env })).ok) return false
    const tree = (await git(place.top, ['write-tree'], { env })).stdout.trim()
    if (tree === '') return false
    if (tree === (await askGitLine(place.top, ['rev-parse', 'HEAD^{tree}']))) return true
    const commit = await git(
      place.top,
      ['commit-tree', tree, '-p', 'HEAD', '-m', `Left in the worktree of ${place.task}`],
      {
        env,
      },
    )
    return commit.ok && (await keepCommitRef(repository, place.task, commit.stdout.trim()))
  } finally {
    await rm(index, { force: true })
  }
}

/** Verified work under the name that it was verified by: a rebase or a squash gives the target the same in other commits. */
const VERIFIED_PREFIX = 'refs/pcc/merged'

/** Keeps the commit of verified work. Done again it is the same; false where git refuses. */
export async function keepVerified(repository: string, task: string, commit: string): Promise<boolean> {
  return (await git(repository, ['update-ref', `${VERIFIED_PREFIX}/${task}/${commit.slice(0, 12)}`, commit])).ok
}

/** Forgets verified work that was committed before a time, in seconds, and gives how much. */
async function forgetVerified(repository: string, before: number): Promise<number> {
  const format = '--format=%(committerdate:unix) %(objectname) %(refname)'
  const { stdout } = await git(repository, ['for-each-ref', format, VERIFIED_PREFIX])
  const old = stdout.split('\n').flatMap(line => {
    const [time, commit, ref] = line.split(' ')
    return ref !== undefined && Number(time) < before ? [`delete ${ref} ${commit}\n`] : []
  })
  if (old.length === 0) return 0
  return (await git(repository, ['update-ref', '--stdin'], { input: old.join('') })).ok ? old.length : 0
}

const DAY_MS = 24 * 60 * 60_000

/**
 * Forgets the first form of work that has long been in its target in another one. That of a task whose merge is not over stays,
 * since a repository in which something is under way is left alone. Gives how much.
 */
export async function forgetOldWork(
  { store, clock }: Pick<MergeDeps, 'store' | 'clock'>,
  days: number,
  signal: AbortSignal,
): Promise<number> {
  const merged = new Set((await store.merges.list({ states: ['merged'] })).map(({ repository }) => repository))
  const busy = new Set((await store.merges.lanes()).map(({ repository }) => repository))
  const before = Math.floor((clock.now() - days * DAY_MS) / 1000)
  let count = 0
  for (const repository of merged) {
    if (signal.aborted) return count
    if (!busy.has(repository) && existsSync(repository)) count += await forgetVerified(repository, before)
  }
  return count
}
