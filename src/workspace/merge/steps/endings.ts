import { crashPoint } from '../../../base/crash-point.ts'
import type { VerificationResult } from '../../../domain/workspace/evidence.ts'
import type { Conflict, Merge } from '../../../domain/workspace/merge.ts'
import type { MergeParts } from '../parts.ts'
import { changeRow, changeWithin, tellHeldUp } from '../rows.ts'
import { cleanUp } from './clean-up.ts'

/** How often a task's conversation is given a conflict before a person is. */
const MOST_ROUNDS = 5

/** Something that is in the target: all of them at once, then what is left of them goes. */
export async function finish(landed: readonly { merge: Merge; result: string }[], parts: MergeParts): Promise<void> {
  crashPoint('merge.before-commit')
  const merged = await parts.store.transaction(async tx => {
    const done: Merge[] = []
    for (const { merge, result } of landed) {
      const now = await changeWithin(merge, { state: 'merged', result, reason: null }, parts, tx)
      if (!now) continue
      const { task_id: task, target } = now
      const body = { task, target, commit: result }
      await tx.append([{ actor: 'daemon', subject: task, kind: 'merge.landed', body }])
      await parts.landed(now, tx)
      done.push(now)
    }
    return done
  })
  crashPoint('merge.after-commit')
  for (const merge of merged) await cleanUp(merge, parts)
}

/** A stale attempt: whatever it has done stays where it is. */
export async function refuse(merge: Merge, why: string, parts: MergeParts): Promise<void> {
  await changeRow(merge, { state: 'aborted', reason: why }, parts)
}

/** It goes on by itself when something outside has changed; told once for each reason. */
export async function holdUp(merge: Merge, reason: string, parts: MergeParts): Promise<void> {
  if (merge.state === 'waiting' && merge.reason === reason) return
  await changeRow(merge, { state: 'waiting', reason }, parts, (now, tx) => tellHeldUp(now, reason, tx))
}

/** All of them wait for their turn again. */
export async function backToQueue(merges: readonly Merge[], reason: string, parts: MergeParts): Promise<void> {
  for (const merge of merges) await changeRow(merge, { state: 'queued', batch: null, reason }, parts)
}

/** A person has to look. */
export async function giveUp(merge: Merge, why: string, parts: MergeParts): Promise<void> {
  parts.log.warn({ merge: merge.id, task: merge.task_id, why }, 'merge given up')
  await changeRow(merge, { state: 'failed', reason: why }, parts, (now, tx) => parts.gaveUp(now, why, tx))
}

/** What passed before does not on the target of now. */
export async function sendBack(merge: Merge, result: VerificationResult, parts: MergeParts): Promise<void> {
  if (result.status === 'broken') return giveUp(merge, `the gates could not run: ${firstOf(result)}`, parts)
  const reason = `on top of ${merge.target} the gates fail: ${firstOf(result)}`
  await changeRow(merge, { state: 'failed', reason }, parts, (now, tx) => parts.sentBack(now, result, tx))
}

/** Its own conversation gets the conflict, which stands in the worktree; after so many a person does. */
export async function handOver(merge: Merge, conflict: Conflict, parts: MergeParts): Promise<void> {
  const files = conflict.files.map(({ path }) => path).join(', ')
  const rounds = merge.rounds + 1
  if (rounds > MOST_ROUNDS) {
    return giveUp(merge, `after ${MOST_ROUNDS} rounds it still conflicts with ${merge.target} in ${files}`, parts)
  }
  const patch = { state: 'conflicted', reason: `conflicts with ${merge.target} in ${files}`, rounds } as const
  await changeRow(merge, patch, parts, (now, tx) => parts.conflicted(now, conflict, tx))
}

function firstOf({ next_steps, findings }: VerificationResult): string {
  return next_steps[0] ?? findings.find(({ weight }) => weight === 'block')?.text ?? 'no reason was given'
}
