import { AppError } from '../../base/errors.ts'
import { clockIn, daysOf, splitDay } from './clock-words.ts'
import { dateIn, exactTime, localTime } from './local-time.ts'
import { nextTime } from './when.ts'

const HOUR_MS = 3_600_000
const UNIT_MS = { m: HOUR_MS / 60, h: HOUR_MS, d: 24 * HOUR_MS, w: 7 * 24 * HOUR_MS } as const

/** The moment that a person means who looks back: "22:00" is the last time it was ten. Throws `since_wrong`. */
export function sinceOf(text: string, zone: string, now: number): number {
  const found = momentIn(text.trim().toLowerCase().replace(/\s+/g, ' '), zone, now)
  if (found === undefined) throw new AppError('since_wrong', { text })
  if (found > now) throw new AppError('since_ahead', { text })
  return found
}

function momentIn(said: string, zone: string, now: number): number | undefined {
  const [, count, unit] = /^(\d{1,4}) ?(m|h|d|w)(?:in|ins|inutes?|ours?|ays?|eeks?)?(?: ago)?$/.exec(said) ?? []
  if (count !== undefined) return now - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]
  if (said === 'today') return localTime(dateIn(zone, now), [0, 0], zone)
  if (said === 'yesterday') return localTime(dateIn(zone, now, -1), [0, 0], zone)
  const exact = exactTime(/^\d{4}-\d\d-\d\d$/.test(said) ? `${said} 00:00` : said, zone)
  if (exact !== undefined) return exact === 'no such date' ? undefined : exact
  const { days, time } = splitDay(said)
  const clock = clockIn(time)
  if (!clock) return undefined
  if (days === 'today') return localTime(dateIn(zone, now), clock, zone)
  if (days === 'yesterday' || days === 'last night') return localTime(dateIn(zone, now, -1), clock, zone)
  const day = days === undefined ? '*' : daysOf(days)
  return day === undefined ? undefined : lastTime(`${clock[1]} ${clock[0]} * * ${day}`, zone, now)
}

/** The latest time of a pattern that is not after a moment. */
function lastTime(pattern: string, zone: string, now: number): number | undefined {
  let last: number | undefined
  for (let at = nextTime(pattern, zone, now - 8 * UNIT_MS.d); at !== undefined && at <= now; )
    [last, at] = [at, nextTime(pattern, zone, at)]
  return last
}
