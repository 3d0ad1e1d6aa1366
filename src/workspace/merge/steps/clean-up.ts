import { crashPoint } from '../../../base/crash-point.ts'
import { messageOf } from '../../../base/errors.ts'
import type { Merge } from '../../../domain/workspace/merge.ts'
import { git } from '../../git/git.ts'
import type { MergeParts } from '../parts.ts'
import { placeOfMerge } from '../place-of-merge.ts'
import { branchTips, isWithin } from '../refs.ts'
import { changeRow } from '../rows.ts'

/** Removes worktree and branch of a merge that landed. What cannot go now stays until the next start looks at it again. */
export async function cleanUp(merge: Merge, parts: MergeParts): Promise<void> {
  try {
    const place = await placeOfMerge(merge, parts)
    crashPoint('merge.before-remove')
    const landed = merge.head ?? undefined
    const removal = place && (await parts.removePlace(place, { landed }))
    crashPoint('merge.after-remove')
    if (removal?.kind === 'kept') return
    if (removal?.kind !== 'removed') await dropBranch(merge) // it went with the worktree
    await changeRow(merge, { cleaned_at: parts.clock.now() }, parts)
  } catch (error) {
    // The work is in the target and the task is done: what is left lying about is no failure of theirs.
    parts.log.warn({ merge: merge.id, task: merge.task_id, problem: messageOf(error) }, 'merged work left behind')
  }
}

/** Only where the target holds all of it. */
async function dropBranch({ repository, branch, target, result }: Merge): Promise<void> {
  const tips = await branchTips(repository, [branch, target])
  const [tip, into] = [tips.get(branch), tips.get(target)]
  if (tip === undefined || into === undefined || result === null) return
  const isIn = (await isWithin(repository, tip, into)) || (await isWithin(repository, tip, result))
  if (isIn) await git(repository, ['branch', '--quiet', '-D', branch])
}
