import { AppError } from '../../../base/errors.ts'
import type { MergeParts } from '../parts.ts'
import { changeWithin } from '../rows.ts'
import { giveUp, refuse } from './endings.ts'
import { intend, type Tried } from './land.ts'
import { type Prepared, titleOf } from './prepare.ts'

/** Opens a pull request in place of moving the target; worktree and branch stay, for what its readers may ask for. */
export async function propose(row: Prepared, parts: MergeParts): Promise<Tried> {
  const intent = await intend([row], parts)
  if (intent.kind === 'stale') await refuse(intent.merge, 'a newer attempt at the task has begun', parts)
  const merge = intent.kind === 'written' ? intent.rows[0]?.merge : undefined
  if (!merge) return { kind: 'settled' }
  const proposed = (await parts.propose?.(merge, row.place, await titleOf(merge, parts))) ?? NOBODY
  if (!proposed.ok) {
    await giveUp(merge, `no pull request: ${proposed.why}`, parts)
    return { kind: 'settled' }
  }
  await parts.store.transaction(async tx => {
    const now = await changeWithin(merge, { state: 'proposed', reason: proposed.url }, parts, tx)
    if (!now) throw new AppError('merge_moved', { id: merge.id })
    await parts.landed(now, tx)
  })
  return { kind: 'settled' }
}

const NOBODY = { ok: false, why: 'nobody here can open one' } as const
