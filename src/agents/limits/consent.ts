import { type Hours, readHours } from '../../domain/hours.ts'
import { type Stretch, stretches, zoneOf } from './zone.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
/** A stretch of hours that a change of clocks swallows one day is there again the next. */
const SEARCH_MS = 3 * DAY_MS

export interface Consent {
  autoResume: boolean
  /** `22:00-07:00`, or several with commas between: the hours in which work may go on by itself. Without it, all. */
  hours?: string | undefined
  /** Whose wall clock the hours are read from; without it the machine's. */
  zone?: string | undefined
}

/** The first moment from `at` on at which a person agreed that work goes on by itself; null where it never does. */
export function nextAllowed(at: number, { autoResume, hours, zone }: Consent): number | null {
  if (!autoResume) return null
  const ranges = hours === undefined ? undefined : readHours(hours)
  if (hours === undefined) return at
  if (!ranges) return null
  for (const stretch of stretches(zoneOf(zone), at, at + SEARCH_MS)) {
    const moments = ranges.flatMap(range => firstIn(range, stretch) ?? [])
    if (moments.length > 0) return Math.min(...moments)
  }
  return null
}

/** The first moment of a stretch whose wall clock stands within the hours. */
function firstIn({ from, to }: Hours, { from: start, to: end, offset }: Stretch): number | undefined {
  const wall = start + offset
  const midnight = Math.floor(wall / DAY_MS) * DAY_MS
  const lengthMs = (to > from ? to - from : to - from + 1440) * MINUTE_MS
  for (let day = midnight - DAY_MS; day < end + offset; day += DAY_MS) {
    const opens = day + from * MINUTE_MS
    const moment = Math.max(opens, wall)
    if (moment < opens + lengthMs && moment < end + offset) return moment - offset
  }
  return undefined
}
