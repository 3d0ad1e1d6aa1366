import type { Merge } from '../../domain/workspace/merge.ts'
import type { Place } from '../../domain/workspace/place.ts'
import type { MergeParts } from './parts.ts'

/** Where the work of a merge lies, as long as it has a place. */
export async function placeOfMerge(
  { task_id, attempt }: Pick<Merge, 'task_id' | 'attempt'>,
  { store }: Pick<MergeParts, 'store'>,
): Promise<Place | undefined> {
  const row = await store.worktrees.get({ task: task_id, attempt })
  if (!row || row.state === 'archived' || row.state === 'removed') return undefined
  const { directory, top, task, branch, target, base } = row
  return { directory, top, task, attempt, branch, target, base }
}
