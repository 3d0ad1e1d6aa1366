// Without zod, so that commands that people type all day need not load it.

/** How a session ended. Only `completed` is a success. */
export const ENDED_AS = ['waiting_input', 'rate_limited', 'paused', 'stopped', 'completed', 'error'] as const
export type EndedAs = (typeof ENDED_AS)[number]

/**
 * What follows: nothing unless a person resumes the session (`over`); it goes on at a time or when a person resumes it (`later`); it goes
 * on with the answer that it waits for (`answer`).
 */
const THEN: Record<EndedAs, 'over' | 'later' | 'answer'> = {
  waiting_input: 'answer',
  rate_limited: 'later',
  paused: 'later',
  stopped: 'over',
  completed: 'over',
  error: 'over',
}

/** How a session ended, or the status that it shows, also while it has not ended. */
type Shown = EndedAs | 'idle' | 'processing' | null

/** Whether a session that ended so, or shows this status, is over: it goes on only if a person resumes it. */
export function isFinal(as: Shown): boolean {
  return thenOf(as) === 'over'
}

/** Whether it waits for a time or a person, and goes on then. */
export function isResting(as: Shown): boolean {
  return thenOf(as) === 'later' || thenOf(as) === 'answer'
}

/** Whether it goes on at a time or when a person resumes it: an answer alone does not bring it back. */
export function resumesLater(as: Shown): boolean {
  return thenOf(as) === 'later'
}

function thenOf(as: Shown) {
  return as === null || as === 'idle' || as === 'processing' ? undefined : THEN[as]
}

/** How the reason of a session begins that a person paused; what lets it go on may follow. */
export const PAUSED_BY_PERSON = 'paused by a person'

/** Whether a person paused the session that has this reason. */
export function isPausedByPerson(reason: string | null | undefined): boolean {
  return reason?.startsWith(PAUSED_BY_PERSON) === true
}
