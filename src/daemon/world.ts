import type { Gates } from '../agents/limits/gates.ts'
import type { QuotaBook } from '../agents/quota/quota.ts'
import type { Log } from '../base/log.ts'
import type { Places } from '../base/places.ts'
import type { Terminals } from '../human/terminals.ts'
import type { Store } from '../store/store.ts'
import type { Supervisor } from '../supervisor/supervisor.ts'

import type { Disk } from './disk/watch-disk.ts'
/** What the routes work with: everything `main.ts` has built. */
export interface World {
  places: Places
  version: string
  /** In which a parked session goes on where nobody said another: the daemon's own. */
  agentEnv: Record<string, string>
  bootId: string
  startedAt: number
  token: string
  log: Log
  store: Store
  terminals: Terminals
  supervisor: Supervisor
  quota: QuotaBook
  gates: Gates
  /** Aborted when the daemon begins to stop. */
  disk: Pick<Disk, 'report'>
  watchdogSeconds: number
  stopping: AbortSignal
  /** Aborted when every session is settled: event streams tell what is left and end. */
  settled: AbortSignal
  /** Open event streams. */
  streams: Set<Promise<void>>
  /** Begins to stop; returns at once. */
  stop(reason: string): void
}
