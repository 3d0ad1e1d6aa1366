import { MERGES_AT_WORK, type Merge } from '../../domain/workspace/merge.ts'
import { factsOf } from './facts.ts'
import { nextMergeStep } from './next-step.ts'
import type { MergeParts } from './parts.ts'
import { workplaceOf } from './place-of-merge.ts'
import { changeRow } from './rows.ts'
import { cleanUp } from './steps/clean-up.ts'
import { finish, giveUp } from './steps/endings.ts'
import { checkoutsOf } from './target/checkouts.ts'
import { repairCheckout } from './target/repair-checkout.ts'
import { restoreAfterDeath } from './work/restore.ts'

/**
 * After a death: what was under way is finished where git says that it happened, and goes back into the queue where it did not;
 * checkouts that somebody died in are mended. Called once, before anything of the queues goes on.
 */
export async function recoverMerges(parts: MergeParts): Promise<void> {
  for (const lane of await parts.store.merges.lanes()) {
    const checkouts = (await checkoutsOf(lane.repository, lane.target)) ?? []
    for (const checkout of checkouts) await repairCheckout(checkout)
  }
  for (const merge of await parts.store.merges.list({ states: MERGES_AT_WORK })) await recover(merge, parts)
  for (const merge of await parts.store.merges.toClean()) await cleanUp(merge, parts)
}

async function recover(merge: Merge, parts: MergeParts): Promise<void> {
  // Whether it is stale is asked when its turn comes: what has happened has happened.
  const step = nextMergeStep(merge, await factsOf(merge, false))
  if (step.kind === 'finish') return finish([{ merge, result: step.result }], parts)
  const place = await workplaceOf(merge, parts)
  const why = place && (await restoreAfterDeath(merge, place))
  if (why !== undefined) return giveUp(merge, why, parts)
  const reason = 'the daemon ended while it was being merged'
  await changeRow(merge, { state: 'queued', batch: null, result: null, reason }, parts)
}
