import type { VerificationResult } from '../../../src/domain/evidence.ts'
import type { MergeQueueKey } from '../../../src/store/task-stores.ts'
import type { PreparedMerge } from '../../../src/workspace/merge/attempt.ts'
import type { MergeDeps } from '../../../src/workspace/merge/merge-state.ts'
import { cleanUp, type MergeOutcome, settleOutcomes } from '../../../src/workspace/merge/outcomes.ts'
import { MergeQueue, type QueueStep, recoverMerges } from '../../../src/workspace/merge/queue.ts'

/** Acts on the steps of a queue in place of completion, for merges that have no tasks. */
export interface QueueDriver {
  deps: MergeDeps
  batch: number
  verify(prepared: PreparedMerge): Promise<VerificationResult>
  /** Called in the transaction that records an outcome. */
  note(outcome: MergeOutcome): void
}

/** Takes steps in a queue until nothing in it can go on. */
export async function driveQueue(key: MergeQueueKey, driver: QueueDriver): Promise<{ checkAgainAt?: number }> {
  const queue = new MergeQueue(key, driver.batch, driver.deps)
  let step: QueueStep = { kind: 'again', outcomes: [] }
  while (step.kind !== 'wait') step = await act(step, queue, driver).catch(error => queue.fail(error))
  return step.checkAgainAt === undefined ? {} : { checkAgainAt: step.checkAgainAt }
}

async function act(step: Exclude<QueueStep, { kind: 'wait' }>, queue: MergeQueue, driver: QueueDriver) {
  await settle(step.outcomes, driver)
  if (step.kind === 'verify') return queue.verified(step, await driver.verify(step.batch.last))
  return step.kind === 'land' ? queue.land(step) : queue.next()
}

/** Does what a daemon does with its merges when it starts. */
export async function recover(driver: QueueDriver): Promise<void> {
  for (const outcome of await recoverMerges(driver.deps)) await settle([outcome], driver)
  for (const merge of await driver.deps.store.merges.toClean()) await cleanUp(merge, driver.deps)
}

function settle(outcomes: readonly MergeOutcome[], { deps, note }: QueueDriver): Promise<void> {
  return settleOutcomes(outcomes, deps, async outcome => note(outcome))
}
