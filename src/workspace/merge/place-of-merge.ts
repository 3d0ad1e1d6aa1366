import type { Merge } from '../../domain/workspace/merge.ts'
import type { Place } from '../../domain/workspace/place.ts'
import { mend } from '../worktrees/genuine.ts'
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

/** The same where git may be called in it: what the agent did to its file `.git` must not lead us into another repository. */
export async function workplaceOf(merge: Merge, parts: Pick<MergeParts, 'store'>): Promise<Place | undefined> {
  const place = await placeOfMerge(merge, parts)
  return place && (await mend({ top: place.top, repository: merge.repository })) ? place : undefined
}
