import { dirname } from 'node:path'
import { foldName } from './fold-name.ts'
import { isInside, type WorktreeFence } from './place.ts'

/** Why a path is not for a session in a worktree to write; undefined where it is its own, or lies somewhere else altogether. */
export function sharedPlace(path: string, { top, repository }: WorktreeFence): string | undefined {
  if (isInside(path, repository)) return 'is the git directory that all worktrees share: leave it to git and pcc'
  if (isInside(top, path)) return 'is the worktree itself, or holds it: change the files in it'
  if (isInside(path, top)) return ownPart(path.slice(top.length + 1))
  if (isInside(repository, path)) return 'holds the repository: leave it where it is'
  if (isInside(path, dirname(top))) return "is another task's worktree: work in this one"
  if (/\/\.git$/.test(repository) && isInside(path, dirname(repository)))
    return "is the person's own checkout: work in this worktree, pcc merges it"
  return undefined
}

/** What of the worktree itself belongs to git and to pcc. */
function ownPart(relative: string): string | undefined {
  const [first = '', second = ''] = relative.split('/').map(foldName)
  if (/^(\.git|git~\d)$/.test(first)) return 'tells git which worktree this is: leave it to git and pcc'
  if (first === '.perpetualcc' && (second === 'task.json' || second === ''))
    return 'tells pcc which task this is: leave it as it is'
  return undefined
}
