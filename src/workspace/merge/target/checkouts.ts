import { existsSync } from 'node:fs'
import { git } from '../../git/git.ts'
import { findGitFolder } from '../../git/git-folder.ts'
import { type Standing, standingInFolder } from '../work/standing.ts'

/** A checkout of a branch: the main one of the repository, or another worktree. */
export interface Checkout {
  top: string
  /** Where git keeps its HEAD and index. */
  own: string
  /** What stands half done there: it will come back to the branch, wherever HEAD is meanwhile. */
  standing: Standing | undefined
}

/**
 * Where a branch is checked out. There is at most one such place unless somebody forced a second. Undefined where git cannot
 * tell: a branch must not be moved under a checkout that nobody has seen.
 */
export async function checkoutsOf(repository: string, branch: string): Promise<Checkout[] | undefined> {
  const { ok, stdout } = await git(repository, ['worktree', 'list', '--porcelain'])
  if (!ok) return undefined
  const found: Checkout[] = []
  for (const block of stdout.split('\n\n')) {
    const lines = block.split('\n')
    const top = lines.find(line => line.startsWith('worktree '))?.slice('worktree '.length)
    const isOn = lines.includes(`branch refs/heads/${branch}`)
    // One that is on another branch is of no interest; one that is on none may come back to this one.
    if (top === undefined || !(isOn || lines.includes('detached')) || !existsSync(top)) continue
    const own = (await findGitFolder(top))?.own
    const standing = own === undefined ? undefined : await standingInFolder(own)
    if (own !== undefined && (isOn || standing?.branch === branch)) found.push({ top, own, standing })
  }
  return found
}
