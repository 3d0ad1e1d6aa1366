import type { Merge } from '../../domain/workspace/merge.ts'
import type { MergeFacts } from './next-step.ts'
import { branchTips, isWithin } from './refs.ts'

/** Asks git about a merge. */
export async function factsOf(merge: Merge, isStale: boolean): Promise<MergeFacts> {
  const { repository, head, result } = merge
  const tips = await branchTips(repository, [merge.target, merge.branch])
  const target = tips.get(merge.target) ?? null
  const isIn = async (commit: string | null) =>
    commit !== null && target !== null && (await isWithin(repository, commit, target))
  const [hasHead, hasResult] = await Promise.all([isIn(head), isIn(result)])
  return { isStale, target, tip: tips.get(merge.branch) ?? null, hasHead, hasResult }
}
