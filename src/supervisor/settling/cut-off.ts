import { paused } from '../loop/endings.ts'
import type { Ending, Run } from '../run.ts'

/** How such a session is told. */
export const CUT_OFF = 'cut off: the daemon was stopped; it goes on when the daemon is back'

/**
 * The ending of a session that was stopped only because its daemon leaves: it goes on with the next one, or, where a person
 * wanted it to pause, stays paused.
 */
export function cutOff(ending: Ending, run: Run, now: number): Ending {
  if (!run.cutOff || ending.as !== 'stopped') return ending
  const { task } = ending
  if (run.pausing === 'person') return { ...ending, ...paused('person', run), task }
  const waits = task?.to === 'waiting' ? { ...task, reason: CUT_OFF, wakesAt: now } : task
  return { ...ending, as: 'paused', reason: CUT_OFF, resumesAt: now, task: waits }
}
