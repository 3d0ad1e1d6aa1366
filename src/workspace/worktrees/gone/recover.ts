import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Worktree } from '../../../domain/workspace/place.ts'
import type { WorktreeParts } from '../parts.ts'
import { placeOf } from '../place-of.ts'
import { removePlace } from '../remove-place.ts'

/**
 * After a death, from what git and the disk say: what was being made is taken back (nobody had it yet), and a row whose
 * directory is gone gets the end that its branch or its archive tells of. Everything else is as it was.
 */
export async function recoverWorktrees(parts: WorktreeParts): Promise<number> {
  const rows = await parts.store.worktrees.list({ states: ['making', 'live'] })
  const broken = rows.filter(row => row.state === 'making' || isDeleted(row))
  for (const row of broken) {
    // One that cannot be mended must not keep a daemon from starting.
    await removePlace(placeOf(row), parts).catch(error =>
      parts.log.warn({ task: row.task, top: row.top, error }, 'a worktree could not be recovered'),
    )
  }
  return broken.length
}

/** Where not even the folder around it is there, a disk may be missing: that is no reason to give anything up. */
export function isDeleted({ top }: Worktree): boolean {
  return !existsSync(top) && existsSync(dirname(top))
}
