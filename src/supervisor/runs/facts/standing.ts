import type { SessionRow } from '../../../store/tables.ts'

/** What a session of a run is to the run: it works or will by itself, it waits for a person, or it is over. */
export function standingOf({ state, ended_as, resumes_at }: SessionRow): 'works' | 'waits' | 'over' {
  if (state !== 'ended' || resumes_at !== null) return 'works'
  return ended_as === 'completed' || ended_as === 'stopped' || ended_as === 'error' ? 'over' : 'waits'
}
