import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Merge } from '../../../domain/workspace/merge.ts'
import type { Place } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'
import { findGitFolder } from '../../git/git-folder.ts'
import { ask, isWithin } from '../refs.ts'
import { keepCommit, keepLoose } from './keep.ts'
import { standingIn } from './standing.ts'

/**
 * Brings a task's worktree and branch back to the verified work. What it finds there beside it, commits and loose files, is kept
 * under a ref first: whoever died here may not have been alone. Gives why it could not.
 */
export async function restoreWork(merge: Merge, place: Place): Promise<string | undefined> {
  const { head, repository, branch } = merge
  if (head === null) return 'nobody knows which commit was verified'
  await outlastLocks(place.top)
  const [isOn, tip, standing] = await Promise.all([
    ask(place.top, ['symbolic-ref', '--quiet', 'HEAD']),
    ask(repository, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`]),
    standingIn(place.top),
  ])
  const loose = await git(place.top, ['status', '--porcelain', '--untracked-files=all', '-z'])
  if (!loose.ok) return `git status failed in ${place.top}: ${loose.stderr.trim()}`
  const isThere = isOn === `refs/heads/${branch}` && tip === head && !standing
  if (isThere && loose.stdout === '') return undefined
  if (!(await keepLoose(repository, place)))
    return `what lies loose in ${place.top} cannot be kept, so it is left alone`
  const detached = isOn === undefined ? await ask(place.top, ['rev-parse', '--verify', '--quiet', 'HEAD']) : undefined
  for (const commit of [tip, detached]) {
    if (commit === undefined || (await isWithin(repository, commit, head))) continue
    if (!(await keepCommit(repository, merge.task_id, commit)))
      return `the commit ${commit} cannot be kept, so ${branch} is left alone`
  }
  // Not --abort: it goes back to where git believes to have begun, and that may be half written.
  if (standing?.kind === 'rebase') await git(place.top, ['rebase', '--quit'])
  await forget(place.top)
  await git(place.top, ['symbolic-ref', 'HEAD', `refs/heads/${branch}`])
  const back = await git(place.top, ['reset', '--hard', '--quiet', head])
  if (!back.ok) return `${place.top} cannot be brought back to ${head.slice(0, 12)}: ${back.stderr.trim()}`
  await git(place.top, ['clean', '-d', '--force', '--quiet']) // it was kept above
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
