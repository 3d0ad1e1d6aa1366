import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Place } from '../../../domain/workspace/place.ts'
import { committer } from '../../git/committer.ts'
import { git } from '../../git/git.ts'
import { findGitFolder } from '../../git/git-folder.ts'
import { ask } from '../refs.ts'

/** Names a commit so that it stays, whatever happens to its branch; once for each commit. */
export async function keepCommit(repository: string, task: string, commit: string): Promise<boolean> {
  const prefix = `refs/pcc/archive/${task}/`
  const kept = await git(repository, ['for-each-ref', '--format=%(objectname) %(refname)', prefix])
  const lines = kept.stdout.split('\n').filter(line => line !== '')
  if (lines.some(line => line.startsWith(`${commit} `))) return true
  const numbers = lines.map(line => Number(line.slice(line.lastIndexOf('/') + 1))).filter(Number.isInteger)
  // Made only where it is not there: somebody else may take the same number in the same moment.
  for (let number = Math.max(0, ...numbers) + 1; ; number += 1) {
    const made = await git(repository, ['update-ref', `${prefix}${number}`, commit, NOTHING])
    if (made.ok) return true
    if (number > Math.max(0, ...numbers) + 20) return false
  }
}

const NOTHING = '0'.repeat(40)

/**
 * Puts everything that is in a worktree and in no commit into one that stays, without touching the worktree. False where that
 * was not possible.
 */
export async function keepLoose(repository: string, place: Place): Promise<boolean> {
  const own = (await findGitFolder(place.top))?.own
  if (own === undefined) return false
  const index = join(own, `pcc-keep-${randomUUID()}`)
  try {
    const env = { ...(await committer(place.top)), GIT_INDEX_FILE: index }
    await git(place.top, ['read-tree', 'HEAD'], { env })
    if (!(await git(place.top, ['add', '-A', '.'], { env })).ok) return false
    const tree = (await git(place.top, ['write-tree'], { env })).stdout.trim()
    if (tree === '') return false
    if (tree === (await ask(place.top, ['rev-parse', 'HEAD^{tree}']))) return true
    const commit = await git(
      place.top,
      ['commit-tree', tree, '-p', 'HEAD', '-m', `Left in the worktree of ${place.task}`],
      {
        env,
      },
    )
    return commit.ok && (await keepCommit(repository, place.task, commit.stdout.trim()))
  } finally {
    await rm(index, { force: true })
  }
}
