import type { Place, Worktree } from '../../domain/workspace/place.ts'
import { undo } from './add-worktree.ts'
import type { WorktreeParts } from './parts.ts'
import { type Removal, type RemoveOptions, removeRow } from './remove-row.ts'

/**
 * Removes a worktree and its branch where it is certain that nothing is lost: merged, clean with untracked files and stashes,
 * and nobody at work in it. What is not certain is archived first; what cannot be archived stays where it is.
 */
export async function removePlace(place: Place, parts: WorktreeParts, options: RemoveOptions = {}): Promise<Removal> {
  const row = await parts.store.worktrees.get(place)
  if (!row || row.state === 'removed' || row.state === 'archived') return { kind: 'removed' }
  const save = (patch: Partial<Worktree>) => parts.store.worktrees.update(row, patch)
  const removal =
    row.state === 'making' ? await unmake(row) : await removeRow(row, options, archive => save({ archive }))
  await save({ ...endOf(removal), ...(removal.kind === 'kept' ? {} : { ended_at: parts.clock.now() }) })
  parts.log.info({ task: row.task, attempt: row.attempt, ...removal }, 'worktree removal')
  return removal
}

function endOf(removal: Removal): Partial<Worktree> {
  if (removal.kind === 'kept') return { reason: removal.why }
  if (removal.kind === 'removed') return { state: 'removed', reason: null }
  return { state: 'archived', reason: removal.why, archive: removal.ref }
}

/** Whoever was to work in it never got it. */
async function unmake(row: Worktree): Promise<Removal> {
  await undo(row, false)
  return row.archive ? { kind: 'archived', ref: row.archive, why: 'it could not be restored' } : { kind: 'removed' }
}
