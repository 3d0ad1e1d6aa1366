import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Merge } from '../../../domain/workspace/merge.ts'
import type { Place } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'
import { findGitFolder } from '../../git/git-folder.ts'
import { ask, isWithin } from '../refs.ts'
import { type CheckoutStatus, statusOf } from '../status.ts'
import { keepCommit, keepLoose } from './keep.ts'
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
  await outlastLocks(place.top)
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

/** A rebase that died while it wrote its own files cannot even be given up by git. */
async function forget(top: string): Promise<void> {
  const own = (await findGitFolder(top))?.own
  if (own === undefined) return
  for (const name of ['rebase-merge', 'rebase-apply', 'AUTO_MERGE']) {
    await rm(join(own, name), { recursive: true, force: true })
  }
}

const PATIENCE_MS = 10_000
const LOOK_MS = 50

/**
 * A lock in the worktree of a task belongs to a git of ours that outlived us and is at its end, or that died with us: it is given
 * some time. The age counts by the clock of the file system that wrote it.
 */
async function outlastLocks(top: string): Promise<void> {
  const own = (await findGitFolder(top))?.own
  if (own === undefined) return
  for (const name of ['index.lock', 'HEAD.lock']) {
    const file = join(own, name)
    for (let waited = 0; await isThere(file); waited += LOOK_MS) {
      if (waited >= PATIENCE_MS) await rm(file, { force: true })
      else await sleep(LOOK_MS)
    }
  }
}

async function isThere(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined
}
