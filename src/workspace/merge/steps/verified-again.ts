import { AppError } from '../../../base/errors.ts'
import type { VerificationResult } from '../../../domain/workspace/evidence.ts'
import type { MergeParts } from '../parts.ts'
import { isSameTree } from '../refs.ts'
import { changeRow } from '../rows.ts'
import type { Prepared } from './prepare.ts'

export interface VerifiedAgain {
  rows: Prepared[]
  /** Nothing where the gates have seen just this tree. */
  result: VerificationResult | undefined
}

/** Runs the gates on what lies in the last worktree of a chain; only where the tree is another one than they have seen. */
export async function verifiedAgain(chain: readonly Prepared[], parts: MergeParts): Promise<VerifiedAgain> {
  const batch = chain.length > 1 ? (chain[0]?.merge.id ?? null) : null
  const rows: Prepared[] = []
  for (const each of chain) {
    const merge = await changeRow(each.merge, { state: 'verifying', result: each.result, batch }, parts)
    if (!merge) throw new AppError('merge_moved', { id: each.merge.id })
    rows.push({ ...each, merge })
  }
  const last = rows.at(-1)
  if (!last) return { rows, result: undefined }
  const { repository, head } = last.merge
  if (head !== null && (await isSameTree(repository, head, last.result))) return { rows, result: undefined }
  const result = await parts.verifyAgain(last.merge, last.place, last.result)
  return { rows, result: result.status === 'passed' && result.commit !== last.result ? another(result) : result }
}

/** Somebody wrote in the worktree meanwhile: the gates saw more than what is to land. */
function another(result: VerificationResult): VerificationResult {
  const text =
    'The worktree was changed while it was being merged: the gates looked at another commit than the one to land.'
  return {
    ...result,
    ...{ status: 'broken', isProven: false, next_steps: [text] },
    findings: [{ code: 'merge.another', weight: 'block', text }],
  }
}
