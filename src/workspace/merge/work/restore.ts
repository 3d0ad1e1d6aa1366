import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Merge } from '../../../domain/workspace/merge.ts'
import type { Place } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'
import { findGitFolder } from '../../git/git-folder.ts'
import { ask, isWithin } from '../refs.ts'
import { type CheckoutStatus, statusOf } from '../status.ts'
import { keepCommit, keepLoose } from './keep.ts'
import { outlastGit } from './outlast-git.ts'
import { standingIn } from './standing.ts'

/**
 * Brings a task's worktree and branch back to the verified work. What it finds there beside it, commits and loose files, is kept
 * under a ref first, but for what we made of it ourselves: whoever died here may not have been alone. Gives why it could not.
 */
export async function restoreWork(
  merge: Merge,
  place: Place,
  isOurs: string | null = null,
): Promise<string | undefined> {
  const { head, branch } = merge
  if (head === null) return 'nobody knows which commit was verified'
  const [status, standing] = await Promise.all([statusOf(place.top, 'all'), standingIn(place.top)])
  if (typeof status === 'string') return status
  const isThere = status.branch === branch && status.commit === head && !standing
  if (isThere && status.loose.length === 0) return undefined
  const problem = await keepAll(status, { merge, place, isOurs })
  if (problem !== undefined) return problem
  if (standing || status.branch !== branch) {
    // Not --abort: it goes back to where git believes to have begun, and that may be half written.
    if (standing?.kind === 'rebase') await git(place.top, ['rebase', '--quit'])
    await forget(place.top)
    await git(place.top, ['symbolic-ref', 'HEAD', `refs/heads/${branch}`])
  }
  const back = await git(place.top, ['reset', '--hard', '--quiet', head])
  if (!back.ok) return `${place.top} cannot be brought back to ${head.slice(0, 12)}: ${back.stderr.trim()}`
  if (status.loose.length > 0) await git(place.top, ['clean', '-d', '--force', '--quiet']) // it was kept above
  return undefined
}

interface Kept {
  merge: Merge
  place: Place
  isOurs: string | null
}

/** Gives why something could not be kept. */
async function keepAll(status: CheckoutStatus, { merge, place, isOurs }: Kept): Promise<string | undefined> {
  const { repository, branch, head, task_id } = merge
  if (status.loose.length > 0 && !(await keepLoose(repository, place))) {
    return `what lies loose in ${place.top} cannot be kept, so it is left alone`
  }
  const tip =
    status.branch === branch
      ? status.commit
      : await ask(repository, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`])
  for (const commit of new Set([tip, status.commit])) {
    const isKnown = commit === undefined || commit === isOurs || commit === head
    if (isKnown || (await isWithin(repository, commit, head ?? ''))) continue
    const isKept = await keepCommit(repository, task_id, commit)
    if (!isKept) return `the commit ${commit} cannot be kept, so ${branch} is left alone`
  }
  return undefined
}

/** The same after a death: a git of ours may still be at it, or have left its locks. */
export async function restoreAfterDeath(merge: Merge, place: Place): Promise<string | undefined> {
  const own = (await findGitFolder(place.top))?.own
  if (own === undefined) return `${place.top} is no worktree any more`
  const branch = join(merge.repository, 'refs', 'heads', merge.branch)
  await outlastGit(place.top, [join(own, 'index.lock'), join(own, 'HEAD.lock'), `${branch}.lock`])
  return restoreWork(merge, place, merge.result)
}

/** A rebase that died while it wrote its own files cannot even be given up by git. */
async function forget(top: string): Promise<void> {
  const own = (await findGitFolder(top))?.own
  if (own === undefined) return
  for (const name of ['rebase-merge', 'rebase-apply', 'AUTO_MERGE']) {
    await rm(join(own, name), { recursive: true, force: true })
  }
}
