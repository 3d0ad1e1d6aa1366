import type { TaskDiff } from '../../domain/workspace/landing/work-view.ts'
import type { Merge } from '../../domain/workspace/merge.ts'
import type { Worktree } from '../../domain/workspace/place.ts'
import { git } from '../git/git.ts'
import { findGitFolder } from '../git/git-folder.ts'
import { nameWorkTree } from '../verify/tree/work-tree.ts'
import { diffBetween } from './diff-between.ts'

/** The ends of a change, and where they lie. */
type Ends = Pick<TaskDiff, 'source' | 'from' | 'to'> & { directory: string }

export interface WorkOfTask {
  task: { id: string; title: string }
  /** The newest of its worktrees. */
  worktree: Worktree | undefined
  /** Its last merge that reached the target. */
  merged: Merge | undefined
}

/** What a task's attempt changed, wherever it lies by now; undefined where nothing is left to be seen. */
export async function taskDiff(
  { task, worktree, merged }: WorkOfTask,
  { stat }: { stat: boolean },
): Promise<TaskDiff | undefined> {
  const ends =
    (worktree && (await living(worktree))) ??
    (merged && (await landed(merged, begunOf(merged, worktree)))) ??
    (worktree && (await kept(worktree)))
  if (!ends) return undefined
  const between = await diffBetween(ends.directory, { ...ends, stat })
  if (!between) return undefined
  const { source, from, to } = ends
  const { attempt = 0, branch = '', target = '' } = worktree ?? merged ?? {}
  const { files, diff, cut } = between
  return {
    ...{ task: task.id, title: task.title, attempt, source, from, to, branch, target, files, cut },
    ...(!stat && { diff }),
  }
}

function begunOf({ attempt }: Merge, worktree: Worktree | undefined): string | undefined {
  return worktree?.attempt === attempt ? worktree.base : undefined
}

/** From where it left its target to everything that lies there now, committed or not. */
async function living({ state, top, target, base }: Worktree): Promise<Ends | undefined> {
  if (state !== 'live') return undefined
  const folder = await findGitFolder(top)
  const to = folder && (await nameWorkTree(folder))
  if (!folder || to === undefined) return undefined
  const begun = await git(top, ['merge-base', `refs/heads/${target}`, 'HEAD'])
  return { source: 'worktree', directory: top, from: begun.ok ? begun.stdout.trim() : base, to }
}

/**
 * What was verified and its own, not what the target became by it: others landed in between. One that was in its target already
 * when its turn came has no base there; then it is what its worktree began with. Verified work in another form than the target's is
 * not kept for ever: after that the target's must do.
 */
async function landed({ repository, base, head, result }: Merge, begun: string | undefined): Promise<Ends | undefined> {
  const from = base ?? begun
  const isKept = head !== null && (await git(repository, ['cat-file', '-e', `${head}^{commit}`])).ok
  const to = isKept ? head : result
  return from === undefined || to === null ? undefined : { source: 'merged', directory: repository, from, to }
}

async function kept({ repository, archive, base }: Worktree): Promise<Ends | undefined> {
  if (archive === null) return undefined
  const begun = await git(repository, ['merge-base', base, archive])
  return { source: 'archived', directory: repository, from: begun.ok ? begun.stdout.trim() : base, to: archive }
}
