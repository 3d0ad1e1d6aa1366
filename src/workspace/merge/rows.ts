import type { Merge } from '../../domain/workspace/merge.ts'
import type { Tx } from '../../store/store.ts'
import type { MergeParts } from './parts.ts'

type Patch = Partial<Omit<Merge, 'id'>>

/** Changes a row in a transaction of its own, with whatever else belongs into it; undefined where somebody was quicker. */
export function changeRow(
  merge: Merge,
  patch: Patch,
  parts: Pick<MergeParts, 'store' | 'clock'>,
  also?: (changed: Merge, tx: Tx) => Promise<void>,
): Promise<Merge | undefined> {
  return parts.store.transaction(async tx => {
    const changed = await changeWithin(merge, patch, parts, tx)
    if (changed) await also?.(changed, tx)
    return changed
  })
}

/** The same in the caller's transaction. */
export async function changeWithin(
  merge: Merge,
  patch: Patch,
  { store, clock }: Pick<MergeParts, 'store' | 'clock'>,
  tx: Tx,
): Promise<Merge | undefined> {
  const all = { ...patch, updated_at: clock.now() }
  return (await store.merges.move(merge, all, tx)) ? { ...merge, ...all } : undefined
}

/** Tells of a merge, to whoever follows its task. */
export async function tellHeldUp(merge: Merge, reason: string, tx: Tx): Promise<void> {
  const { task_id: task, target } = merge
  await tx.append([{ actor: 'daemon', subject: task, kind: 'merge.held_up', body: { task, target, reason } }])
}
