import { isZone, momentsOf, wallAt, zoneOf } from './zone.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/**
 * The vendor shows a bare time for what comes within a day. One that has just passed is a reset that has just passed, told
 * by a clock a little off, and not one in twenty-four hours.
 */
const JUST_PASSED_MS = 10 * MINUTE_MS

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const UNITS: Record<string, number> = { d: DAY_MS, h: 60 * MINUTE_MS, m: MINUTE_MS, s: 1000 }

const LEAD = /\b(?:resets?|try again|available again)(?:\s+(?:at|on|in))?\s+(.*)$/is
const EPOCH = /\|\s*(\d{10}|\d{13})\b/
const ISO = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)/i
const DURATION = /^(?:in\s+)?((?:\d+\s*(?:d|h|m|s)[a-z]*[\s,]*(?:and\s+)?)+)/i
const DATE = /^(?:on\s+)?([a-z]{3})[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?,?\s+(?:at\s+)?/i
const TIME = /^(\d{1,2})(?::(\d\d))?\s*([ap])\.?m\b|^(\d{1,2}):(\d\d)\b/i
const ZONE = /\(([A-Za-z0-9_+\-/]+)\)/

export interface Told {
  /** When the message was written. */
  now: number
  /** `TZ` of whoever wrote it: the zone of a time that names none. */
  tz?: string | undefined
}

/**
 * The time at which the vendor's own message says that a limit resets: `resets 3:37am (UTC)`, `resets Nov 20, 3am
 * (Europe/Berlin)`, `resets in 2h 5m`. Undefined where it says none. Only for messages that the vendor wrote.
 */
export function resetTime(message: string, told: Told): number | undefined {
  const found = timeIn(message, told)
  return found !== undefined && Number.isSafeInteger(found) ? found : undefined
}

function timeIn(message: string, { now, tz }: Told): number | undefined {
  const text = message.replace(/\s+/g, ' ')
  const epoch = EPOCH.exec(text)?.[1]
  if (epoch !== undefined) return Number(epoch.padEnd(13, '0'))
  const told = LEAD.exec(text)?.[1]
  if (told === undefined) return undefined
  const iso = ISO.exec(told)?.[0]
  if (iso !== undefined) return Date.parse(iso.replace(' ', 'T'))
  const duration = DURATION.exec(told)?.[1]
  if (duration !== undefined) return now + lengthOf(duration)
  return wallClock(told, { now, zone: zoneIn(told) ?? zoneOf(tz) })
}

function wallClock(told: string, { now, zone }: { now: number; zone: string }): number | undefined {
  const date = DATE.exec(told)
  const month = MONTHS.indexOf(date?.[1]?.toLowerCase() ?? '')
  const minutes = minutesIn(told.slice(date && month >= 0 ? date[0].length : 0))
  if (minutes === undefined) return undefined
  const today = Math.floor(wallAt(now, zone) / DAY_MS) * DAY_MS
  if (!date || month < 0) return nextTime(today + minutes * MINUTE_MS, { now, zone })
  const day = Number(date[2])
  const years = date[3] === undefined ? yearsAround(today) : [Number(date[3])]
  const moments = years.flatMap(year => {
    const midnight = Date.UTC(year, month, day)
    const isReal = new Date(midnight).getUTCDate() === day
    return isReal ? momentsOf(midnight + minutes * MINUTE_MS, zone) : []
  })
  // Without a year the nearest is meant, also when it has just passed.
  return moments.toSorted((a, b) => Math.abs(a - now) - Math.abs(b - now))[0]
}

/** The first time from now on at which the clocks show it. */
function nextTime(wallToday: number, { now, zone }: { now: number; zone: string }): number | undefined {
  const days = [-1, 0, 1, 2].flatMap(days => momentsOf(wallToday + days * DAY_MS, zone))
  return days.toSorted((a, b) => a - b).find(moment => moment > now - JUST_PASSED_MS)
}

function minutesIn(text: string): number | undefined {
  const [, hour12, minute12, half, hour24, minute24] = TIME.exec(text) ?? []
  if (half !== undefined) {
    const hour = Number(hour12)
    if (hour < 1 || hour > 12 || Number(minute12 ?? 0) > 59) return undefined
    return ((hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0)) * 60 + Number(minute12 ?? 0)
  }
  if (hour24 === undefined || Number(hour24) > 23 || Number(minute24) > 59) return undefined
  return Number(hour24) * 60 + Number(minute24)
}

function zoneIn(text: string): string | undefined {
  const name = ZONE.exec(text)?.[1]
  return name !== undefined && isZone(name) ? name : undefined
}

function yearsAround(today: number): number[] {
  const year = new Date(today).getUTCFullYear()
  return [year - 1, year, year + 1]
}

function lengthOf(duration: string): number {
  const pieces = duration.matchAll(/(\d+)\s*([dhms])/gi)
  return [...pieces].reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit?.toLowerCase() ?? ''] ?? 0), 0)
}
