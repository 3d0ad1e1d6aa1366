import { stat } from 'node:fs/promises'
import { AppError } from '../../base/errors.ts'
import type { Place } from '../../domain/workspace/place.ts'

/** Refuses to go on in a worktree that somebody has removed, and says how its work comes back. */
export async function checkPlace({ directory, task, branch }: Place): Promise<void> {
  const found = await stat(directory).catch(() => undefined)
  if (!found?.isDirectory()) throw new AppError('worktree_gone', { path: directory, task, branch })
}
