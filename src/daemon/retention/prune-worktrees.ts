import type { Clock } from '../../base/clock.ts'
import { worktreeParts } from '../worktrees/parts.ts'

const DAY_MS = 24 * 60 * 60_000

export type PruneWorktrees = Parameters<typeof worktreeParts>[0] & { clock: Clock; signal: AbortSignal }

/** Archives worktrees whose task has long been over, and removes what was archived or copied long ago. Gives how many. */
export async function pruneWorktrees({ clock, signal, ...world }: PruneWorktrees): Promise<number> {
  const [{ removeOld }, { pruneSnapshots }, { forgetOldWork }] = await Promise.all([
    import('../../workspace/worktrees/gone/prune.ts'),
    import('../../workspace/worktrees/ready/snapshot.ts'),
    import('../../workspace/merge/forget-old.ts'),
  ])
  const parts = { ...(await worktreeParts(world)), clock }
  const days = parts.settings.keep_days
  const trees = await removeOld(parts, days, signal)
  const forms = await forgetOldWork(parts, days, signal)
  return trees + forms + (await pruneSnapshots(parts.root, clock.now() - days * DAY_MS))
}
