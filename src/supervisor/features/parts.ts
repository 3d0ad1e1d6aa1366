import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { StartSession } from '../../domain/api.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Tasks } from '../../tasks/open.ts'
import type { BoundTask } from '../start/start-session.ts'
import type { KeptEnvironments } from '../waits/kept-environments.ts'

/** What features work with. */
export interface FeaturesParts {
  store: Store
  tasks: Tasks
  clock: Clock
  log: Log
  kept: KeptEnvironments
  /** Where nothing was kept. */
  agentEnv: Record<string, string>
  /** Whether what agents are started with may be kept in a file. */
  keepsEnvironment(of: Pick<StartSession, 'project' | 'config' | 'settings'>): Promise<boolean>
  start(request: StartSession, bound: BoundTask): Promise<SessionRow>
  resume(row: SessionRow, env: Record<string, string>): Promise<SessionRow>
  stop(session: string, reason: string): Promise<void>
}
