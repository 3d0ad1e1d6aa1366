import type { Log } from '../../base/log.ts'
import type { RunRow } from '../../store/runs/rows.ts'
import type { KeptEnvironments } from '../waits/kept-environments.ts'
import type { BeginParts } from './begin/begin-next.ts'
import type { Warmth } from './begin/warm-next.ts'
import type { RunSettings } from './run-settings.ts'

/** What runs need of those around them. */
export interface RunsParts extends BeginParts {
  log: Log
  /** Held while notes of a project are written. */
  notesLock: string
  kept: KeptEnvironments
  warmth: Warmth
  /** Where nothing was kept. */
  agentEnv: Record<string, string>
  settingsOf(run: Pick<RunRow, 'project' | 'options'>): Promise<RunSettings>
  stop(session: string, reason: string): Promise<void>
  pause(session: string): Promise<void>
  resume(session: string): Promise<void>
  /** Looks once more at what was called done and has not landed. */
  landAgain(): Promise<void>
  /** Keeps a session that has no process from going on by itself. */
  pauseWaiting(session: string): Promise<void>
}
