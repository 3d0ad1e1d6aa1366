import { join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Places } from '../../base/places.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { Store } from '../../store/store.ts'
import type { WorktreeParts } from '../../workspace/worktrees/parts.ts'

/** What the daemon puts worktrees away with: the person's own settings, whichever project it is about. */
export async function worktreeParts({
  places,
  env,
  store,
  log,
}: {
  places: Places
  env: Record<string, string | undefined>
  store: Store
  log: Log
}): Promise<WorktreeParts> {
  const { worktrees } = (await loadConfig({ places, env })).config
  const root = worktrees.directory ?? join(places.home, 'worktrees')
  return { store, log, env, root, clock: systemClock, settings: worktrees }
}
