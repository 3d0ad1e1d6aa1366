import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Finding } from '../../../domain/workspace/evidence.ts'
import type { Place } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'
import type { GitFolder } from '../../git/git-folder.ts'

/** Why there is no tree to look at: the agent can mend it, or a person has to look. */
export interface Refused {
  ok: false
  weight: 'failed' | 'broken'
  finding: Finding
}

/** Files that are there while git is in the middle of something. */
const MIDDLE: Record<string, string> = {
  'rebase-merge': 'a rebase',
  'rebase-apply': 'a rebase',
  MERGE_HEAD: 'a merge',
  CHERRY_PICK_HEAD: 'a cherry-pick',
  REVERT_HEAD: 'a revert',
}

/**
 * Why the work in a place cannot be named yet: conflicts that nobody has resolved, something half done, another branch. An
 * agent that went off its branch with work that follows from it is put back onto it.
 */
export async function unfinished(place: Place, { own }: GitFolder): Promise<Refused | undefined> {
  const conflicts = await git(place.top, ['diff', '--name-only', '--diff-filter=U', '-z', '--'])
  const files = conflicts.stdout.split('\0').filter(Boolean)
  if (files.length > 0) {
    const some = files.slice(0, 20).join(', ')
    return failed('git.conflict', `There are conflicts nobody has resolved: ${some}. Edit them, then: git add them.`)
  }
  const middle = Object.keys(MIDDLE).find(name => existsSync(join(own, name)))
  if (middle !== undefined) return failed('git.unfinished', `git is in the middle of ${MIDDLE[middle]} here.`)
  const head = await git(place.top, ['symbolic-ref', '--quiet', 'HEAD'])
  return head.stdout.trim() === `refs/heads/${place.branch}` ? undefined : backOntoBranch(place)
}

async function backOntoBranch({ top, branch }: Place): Promise<Refused | undefined> {
  const ref = `refs/heads/${branch}`
  const [here, tip] = await Promise.all([
    git(top, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']),
    git(top, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]),
  ])
  const follows = tip.ok ? await git(top, ['merge-base', '--is-ancestor', tip.stdout.trim(), 'HEAD']) : here
  if (!here.ok || !follows.ok) {
    const text = `${top} is not on its branch ${branch}, and what is there does not follow from it.`
    return { ok: false, weight: 'broken', finding: { code: 'git.branch', weight: 'block', text } }
  }
  await git(top, ['update-ref', ref, here.stdout.trim(), ...(tip.ok ? [tip.stdout.trim()] : [])])
  await git(top, ['symbolic-ref', 'HEAD', ref])
  return undefined
}

function failed(code: string, text: string): Refused {
  return { ok: false, weight: 'failed', finding: { code, weight: 'block', text } }
}
