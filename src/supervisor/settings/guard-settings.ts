import type { Config } from '../../domain/config/config.ts'

/** From when on a session counts as running away. */
export interface GuardSettings {
  repeatedCalls: number
  noProgressRounds: number
  stallMs: number
  maxMemoryBytes: number
}

/** The bounds of the settings. */
export function guardSettings({ breakers, sessions, agents }: Config): GuardSettings {
  return {
    repeatedCalls: breakers.repeated_calls,
    noProgressRounds: breakers.no_progress_rounds,
    stallMs: sessions.stall_minutes * 60_000,
    maxMemoryBytes: agents.max_memory_mb * 1024 * 1024,
  }
}
