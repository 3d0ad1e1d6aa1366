import { crashPoint } from '../../../base/crash-point.ts'
import { AppError } from '../../../base/errors.ts'
import type { VerificationResult } from '../../../domain/workspace/evidence.ts'
import type { Merge } from '../../../domain/workspace/merge.ts'
import type { MergeParts } from '../parts.ts'
import { treeOf } from '../refs.ts'
import { changeRow } from '../rows.ts'
import { restoreWork } from '../work/restore.ts'
import { backToQueue, giveUp, handOver, sendBack } from './endings.ts'
import { land, type Tried } from './land.ts'
import { type Prepared, prepare } from './prepare.ts'

/**
 * Tries merges together: each one's work is put onto that of the one before it, so that the last worktree holds the combination,
 * and that is verified once. One that does not go together with those before it waits for its turn alone.
 */
export async function tryTogether(queued: readonly Merge[], tip: string, parts: MergeParts): Promise<Tried> {
  const chain: Prepared[] = []
  for (const each of queued) {
    const onto = chain.at(-1)?.result ?? tip
    const prepared = await prepare(each, onto, parts)
    if (prepared.kind === 'ready') chain.push(prepared)
    else if (prepared.kind === 'broken') await giveUp(prepared.merge, prepared.why, parts)
    else if (prepared.kind === 'conflict' && chain.length === 0) {
      await handOver(prepared.merge, prepared.conflict, parts)
      return { kind: 'settled' }
    } else if (prepared.kind === 'conflict') await stepBack(prepared.merge, prepared.place, parts)
  }
  const last = chain.at(-1)
  if (!last) return { kind: 'settled' }
  const batch = chain.length > 1 ? (chain[0]?.merge.id ?? null) : null
  const { rows, result } = await verifyLast(chain, last, batch, parts)
  crashPoint('merge.after-verify')
  if (result === undefined || result.status === 'passed') return land(rows, tip, parts)
  if (rows.length === 1 && rows[0]) {
    await sendBack(rows[0].merge, result, parts)
    return { kind: 'settled' }
  }
  await backToQueue(
    rows.map(({ merge }) => merge),
    'it is tried again with fewer others: together they do not pass',
    parts,
  )
  return { kind: 'red', count: rows.length }
}

async function stepBack(merge: Merge, place: Prepared['place'], parts: MergeParts): Promise<void> {
  const why = await restoreWork(merge, place)
  if (why !== undefined) return giveUp(merge, why, parts)
  await changeRow(merge, { state: 'queued', reason: 'it conflicts with one before it, and waits for that one' }, parts)
}

/** What was verified is verified: gates run only where the tree is another one than they have seen. */
async function verifyLast(
  chain: readonly Prepared[],
  last: Prepared,
  batch: number | null,
  parts: MergeParts,
): Promise<{ rows: Prepared[]; result: VerificationResult | undefined }> {
  const rows: Prepared[] = []
  for (const each of chain) {
    const merge = await changeRow(each.merge, { state: 'verifying', result: each.result, batch }, parts)
    if (!merge) throw new AppError('merge_moved', { id: each.merge.id })
    rows.push({ ...each, merge })
  }
  const [seen, now] = await Promise.all([
    treeOf(last.merge.repository, last.merge.head ?? ''),
    treeOf(last.merge.repository, last.result),
  ])
  if (seen !== undefined && seen === now) return { rows, result: undefined }
  const merge = rows.at(-1)?.merge ?? last.merge
  return { rows, result: await parts.verifyAgain(merge, last.place, last.result) }
}
