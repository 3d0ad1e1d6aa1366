import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DAY_MS } from '../../base/clock.ts'
import type { Merge } from '../../domain/merge.ts'
import type { Worktree } from '../../domain/worktree.ts'
import {
  type CheckoutStatus,
  dropGitOperation,
  findGitOperation,
  readCheckoutStatus,
  waitForOrphanedGit,
} from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { findGitFolder } from '../git/git-folder.ts'
import { committerEnv } from '../git/harden.ts'
import { askGitLine, isAncestorOrSame } from '../git/refs.ts'
import { forgetReplay } from '../worktrees/worktree-note.ts'
import type { MergeDeps } from './merge-state.ts'
import { readBeginning } from './read-conflict.ts'

/**
 * Resets a task's worktree and branch to the verified work. Commits and uncommitted files beyond it are kept under a ref first,
 * except the commit that this merge made itself (`ownCommit`): somebody else may have worked there too. Returns why it could not.
 */
export async function restoreWork(
  merge: Merge,
  worktree: Worktree,
  ownCommit: string | null = null,
): Promise<string | undefined> {
  const { head, branch } = merge
  if (head === null) return 'nobody knows which commit was verified'
  await forgetReplay(worktree.top)
  const [status, operation] = await Promise.all([
    readCheckoutStatus(worktree.top, 'all'),
    findGitOperation(worktree.top),
  ])
  if (typeof status === 'string') return status
  const isAtHead = status.branch === branch && status.commit === head && !operation
  if (isAtHead && status.loose.length === 0) return undefined
  const problem = await keepOtherWork(status, { merge, worktree, ownCommit })
  if (problem !== undefined) return problem
  if (operation || status.branch !== branch) {
    // Git's own notes may be half written, or an agent's: git is not asked to abort or quit.
    await dropGitOperation(worktree.top)
    await git(worktree.top, ['symbolic-ref', 'HEAD', `refs/heads/${branch}`])
  }
  const back = await git(worktree.top, ['reset', '--hard', '--quiet', head])
  if (!back.ok) return `${worktree.top} cannot be brought back to ${head.slice(0, 12)}: ${back.stderr.trim()}`
  if (status.loose.length > 0) await git(worktree.top, ['clean', '-d', '--force', '--quiet']) // they were kept above
  return undefined
}

interface KeepContext {
  merge: Merge
  worktree: Worktree
  ownCommit: string | null
}

/** Keeps commits and files that the verified work does not contain. Returns why something could not be kept. */
async function keepOtherWork(
  status: CheckoutStatus,
  { merge, worktree, ownCommit }: KeepContext,
): Promise<string | undefined> {
  const { repository, branch, head, task_id } = merge
  if (status.loose.length > 0 && !(await keepUncommitted(repository, worktree))) {
    return `what lies loose in ${worktree.top} cannot be kept, so it is left alone`
  }
  const tip =
    status.branch === branch
      ? status.commit
      : await askGitLine(repository, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`])
  for (const commit of new Set([tip, status.commit, await readAutostash(worktree.top)])) {
    const isKnown = commit === undefined || commit === ownCommit || commit === head
    if (isKnown || (await isAncestorOrSame(repository, commit, head ?? ''))) continue
    const isKept = await keepCommitRef(repository, task_id, commit)
    if (!isKept) return `the commit ${commit} cannot be kept, so ${branch} is left alone`
  }
  return undefined
}

/** What a rebase that somebody else began has put aside of uncommitted work. */
async function readAutostash(top: string): Promise<string | undefined> {
  const own = (await findGitFolder(top))?.own
  const id = own && (await readBeginning(own, 'rebase-merge/autostash'))?.trim()
  if (!id || !/^[0-9a-f]{40,64}$/.test(id)) return undefined
  return askGitLine(top, ['rev-parse', '--verify', '--quiet', `${id}^{commit}`])
}

/** Restores the work after a death of the daemon: a git process of ours may still be running, or have left its locks. */
export async function restoreAfterDeath(merge: Merge, worktree: Worktree): Promise<string | undefined> {
  const own = (await findGitFolder(worktree.top))?.own
  if (own === undefined) return `${worktree.top} is no worktree any more`
  const branch = join(merge.repository, 'refs', 'heads', merge.branch)
  await waitForOrphanedGit(worktree.top, [join(own, 'index.lock'), join(own, 'HEAD.lock'), `${branch}.lock`])
  return restoreWork(merge, worktree, merge.result)
}

/** Puts a ref on a commit so that it survives whatever happens to its branch; once for each commit. */
async function keepCommitRef(repository: string, task: string, commit: string): Promise<boolean> {
  const prefix = `refs/pcc/archive/${task}/`
  const kept = await git(repository, ['for-each-ref', '--format=%(objectname) %(refname)', prefix])
  const lines = kept.stdout.split('\n').filter(line => line !== '')
  if (lines.some(line => line.startsWith(`${commit} `))) return true
  const numbers = lines.map(line => Number(line.slice(line.lastIndexOf('/') + 1))).filter(Number.isInteger)
  // The ref is only created where it does not exist: somebody else may take the same number at the same moment.
  for (let number = Math.max(0, ...numbers) + 1; ; number += 1) {
    const made = await git(repository, ['update-ref', `${prefix}${number}`, commit, NO_REF])
    if (made.ok) return true
    if (number > Math.max(0, ...numbers) + 20) return false
  }
}

/** For git, an old value of nothing means that there must be no such ref. The usual zeros differ in length with the kind of hash. */
const NO_REF = ''

/** Saves everything uncommitted in a worktree as a commit under a ref, without touching the worktree. False if that fails. */
async function keepUncommitted(repository: string, worktree: Worktree): Promise<boolean> {
  // No agent sees it: git writes through a link that is put in the place of its index.
  const scratch = await mkdtemp(join(tmpdir(), 'pcc-keep-'))
  try {
    const env = { ...(await committerEnv(worktree.top)), GIT_INDEX_FILE: join(scratch, 'index') }
    await git(worktree.top, ['read-tree', 'HEAD'], { env })
    if (!(await git(worktree.top, ['add', '-A', '.'], { env })).ok) return false
    const tree = (await git(worktree.top, ['write-tree'], { env })).stdout.trim()
    if (tree === '') return false
    if (tree === (await askGitLine(worktree.top, ['rev-parse', 'HEAD^{tree}']))) return true
    const commit = await git(
      worktree.top,
      ['commit-tree', tree, '-p', 'HEAD', '-m', `Left in the worktree of ${worktree.task}`],
      {
        env,
      },
    )
    return commit.ok && (await keepCommitRef(repository, worktree.task, commit.stdout.trim()))
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/** Refs to the commits that were verified: after a rebase or a squash the target holds the same work in other commits. */
const VERIFIED_PREFIX = 'refs/pcc/merged'

/** Keeps the commit of verified work. A second call changes nothing; false if git refuses. */
export async function keepVerified(repository: string, task: string, commit: string): Promise<boolean> {
  return (await git(repository, ['update-ref', `${VERIFIED_PREFIX}/${task}/${commit.slice(0, 12)}`, commit])).ok
}

/** Deletes the refs to verified work that was committed before a time, in seconds, and returns how many. */
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

/**
 * Deletes the refs to verified commits whose work has long been in the target in another form. A repository with an open merge is
 * left alone, so that the commits of its tasks stay. Returns how many were deleted.
 */
export async function forgetOldWork(
  { store, clock }: Pick<MergeDeps, 'store' | 'clock'>,
  days: number,
  signal: AbortSignal,
): Promise<number> {
  const merged = new Set((await store.merges.list({ states: ['merged'] })).map(({ repository }) => repository))
  const busy = new Set((await store.merges.queues()).map(({ repository }) => repository))
  const before = Math.floor((clock.now() - days * DAY_MS) / 1000)
  let count = 0
  for (const repository of merged) {
    if (signal.aborted) return count
    if (!busy.has(repository) && existsSync(repository)) count += await forgetVerified(repository, before)
  }
  return count
}
