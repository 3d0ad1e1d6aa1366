import type { Gates } from '../agents/limits/gates.ts'
import type { QuotaBook } from '../agents/quota/quota.ts'
import type { HookDesk } from '../agents/tmux/hooks/desk.ts'
import type { Log } from '../base/log.ts'
import type { Places } from '../base/places.ts'
import type { Health } from '../domain/api.ts'
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
  /** Where hooks of agents in terminals meet their sessions. */
  hooks: HookDesk
  disk: Pick<Disk, 'report'>
  watchdogSeconds: number
  /** Aborted when the daemon begins to stop. */
  stopping: AbortSignal
  /** Aborted when every session is settled: event streams tell what is left and end. */
  settled: AbortSignal
  /** What an earlier daemon had left, where it did not end cleanly. */
  recovered?: Health['recovered']
  /** Open event streams. */
  streams: Set<Promise<void>>
  /** Begins to stop; returns at once. `goOn`: sessions are only cut off, and go on with the next daemon. */
  stop(reason: string, options?: { goOn?: boolean }): void
  /** Whether the sessions go on with the next daemon. */
  cutsOff: boolean
}
