import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../domain/config/config.ts'
import type { Store } from '../../store/store.ts'

export type WorktreeSettings = Config['worktrees']

/** What worktrees are made and removed with. */
export interface WorktreeParts {
  store: Store
  clock: Clock
  log: Log
  /** Directory of all worktrees. */
  root: string
  /** What the set-up command sees of the person's environment is taken out of it. */
  env: Record<string, string | undefined>
  settings: WorktreeSettings
}
