import type { Worktree } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'
import { isOthersDoing } from '../../git/outlast-others.ts'
import { refusal, told } from '../refusal.ts'

/** Puts a commit under the next free `refs/pcc/archive/<task>/<n>`, and gives the ref. */
export async function keepCommit(
  { task, project }: Pick<Worktree, 'task' | 'project'>,
  commit: string,
  at: string,
): Promise<string> {
  const prefix = `refs/pcc/archive/${task}/`
  const { stdout } = await git(at, ['for-each-ref', '--format=%(refname)', prefix])
  const highest = Math.max(0, ...stdout.split('\n').map(name => Number(name.slice(prefix.length)) || 0))
  const ref = `${prefix}${highest + 1}`
  // Zeros: it must not be there yet.
  const { ok, stderr } = await git(at, ['update-ref', ref, commit, '0'.repeat(commit.length)])
  if (ok) return ref
  const remedy = `Nothing was removed. Mend what git says, then: pcc worktree archive ${task}`
  const why = `its work could not be kept (${told(stderr)})`
  throw refusal({ task, project }, { why, remedy, passes: isOthersDoing(stderr) })
}
