import type { Run, Trip } from '../run.ts'

/**
 * Stops a session softly: after the tool in flight, which loses nothing. Whoever asked first keeps the word: a person who
 * pauses or stops it, or an account that was shut, ends it too. True where it was this that stopped it.
 */
export function trip(run: Run, why: Trip): boolean {
  if (run.over || run.stopping !== undefined || run.pausing !== undefined) return false
  run.tripped = why
  run.pausing = 'guard'
  run.log.warn({ guard: why.guard, reason: why.reason }, 'a guard stops the session')
  run.session?.pause().catch(error => run.log.warn({ error }, 'could not be paused'))
  return true
}
