const DAY_MS = 24 * 60 * 60_000
/** A machine may well be off for a week. */
const PLAUSIBLE_MS = 7 * DAY_MS
/** "A day apart", with room for a daily look that comes a little early. */
export const APART_MS = 20 * 60 * 60_000

export interface ClockEvidence {
  now: number
  /** From the last thing that was written a day ago or before, to a day ago. */
  gapMs: number
  /** When the clock was first doubted. */
  doubtedAt: number | undefined
}

/**
 * Whether things may be removed for their age. A clock that was set a year ahead makes everything look old, so one that has
 * run far ahead of the last thing written is believed only when it says so again a day later.
 */
export function trustClock({ now, gapMs, doubtedAt }: ClockEvidence): boolean {
  if (gapMs <= PLAUSIBLE_MS) return true
  if (doubtedAt === undefined) return false
  const since = now - doubtedAt
  return since >= APART_MS && since <= PLAUSIBLE_MS
}
