import { crashPoint } from '../../../base/crash-point.ts'
import type { Merge } from '../../../domain/workspace/merge.ts'
import type { MergeParts } from '../parts.ts'
import { changeRow } from '../rows.ts'
import { restoreWork } from '../work/restore.ts'
import { backToQueue, giveUp, handOver, sendBack } from './endings.ts'
import { land, type Tried } from './land.ts'
import { type Prepared, prepare } from './prepare.ts'
import { propose } from './propose.ts'
import { verifiedAgain } from './verified-again.ts'

/**
 * Tries merges together: each one's work is put onto that of the one before it, so that the last worktree holds the combination,
 * and that is verified once. One that does not go together with those before it waits for its turn alone.
 */
export async function tryTogether(queued: readonly Merge[], tip: string, parts: MergeParts): Promise<Tried> {
  const chain: Prepared[] = []
  for (const each of queued) {
    const onto = chain.at(-1)?.result ?? tip
    const prepared = await prepare(each, { onto, tip }, parts)
    if (prepared.kind === 'ready') chain.push(prepared)
    else if (prepared.kind === 'broken') await giveUp(prepared.merge, prepared.why, parts)
    else if (prepared.kind === 'conflict' && chain.length === 0) {
      await handOver(prepared.merge, prepared.conflict, parts)
      return { kind: 'settled' }
    } else if (prepared.kind === 'conflict') await stepBack(prepared.merge, prepared.place, parts)
  }
  const { rows, result } = await verifiedAgain(chain, parts)
  crashPoint('merge.after-verify')
  const [first] = rows
  if (!first) return { kind: 'settled' }
  if (result === undefined || result.status === 'passed') {
    return first.merge.as_pull_request ? propose(first, parts) : land(rows, tip, parts)
  }
  if (rows.length === 1) {
    await sendBack(first.merge, result, parts)
    return { kind: 'settled' }
  }
  const all = rows.map(({ merge }) => merge)
  await backToQueue(all, 'it is tried again with fewer others: together they do not pass', parts)
  return { kind: 'red', count: rows.length }
}

async function stepBack(merge: Merge, place: Prepared['place'], parts: MergeParts): Promise<void> {
  const why = await restoreWork(merge, place)
  if (why !== undefined) return giveUp(merge, why, parts)
  await changeRow(merge, { state: 'queued', reason: 'it conflicts with one before it, and waits for that one' }, parts)
}
