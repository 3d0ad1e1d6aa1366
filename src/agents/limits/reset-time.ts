import { DAY_MS, HOUR_MS, MINUTE_MS, ownZone } from '../../base/clock.ts'
import type { Limit } from '../../domain/limit.ts'
import type { SessionEvent } from '../../domain/session.ts'

export type LimitEvent = Extract<SessionEvent, { kind: 'limit' }>

/** The limit that ended a turn: from the account's earlier record, else from the text of the agent's own error. */
export function limitFromRecord(
  event: LimitEvent | undefined,
  { message, resetsAt }: { message: string; resetsAt: number | undefined },
): Limit {
  const rejected = event?.status === 'rejected' ? event : undefined
  const window = rejected?.window !== undefined ? { window: rejected.window } : {}
  if (rejected?.resetsAt !== undefined) return { ...window, resetsAt: rejected.resetsAt, source: 'event', message }
  if (resetsAt !== undefined) return { ...window, resetsAt, source: 'message', message }
  return { ...window, source: rejected ? 'event' : 'result', message }
}

/**
 * The vendor shows a bare time for a reset within a day. A time that has just passed is a reset that has just passed, written by
 * a clock that is a little off, and not a reset in twenty-four hours.
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

export interface ClockContext {
  /** When the message was written. */
  now: number
  /** `TZ` of the process that wrote it: the zone of a time that names none. */
  tz?: string | undefined
}

/**
 * The time at which the vendor's own message says that a limit resets: `resets 3:37am (UTC)`, `resets Nov 20, 3am
 * (Europe/Berlin)`, `resets in 2h 5m`. Undefined when it names none. Only for messages that the vendor wrote.
 */
export function parseResetTime(message: string, context: ClockContext): number | undefined {
  const time = parseTime(message, context)
  return time !== undefined && Number.isSafeInteger(time) ? time : undefined
}

function parseTime(message: string, { now, tz }: ClockContext): number | undefined {
  const text = message.replace(/\s+/g, ' ')
  const epoch = EPOCH.exec(text)?.[1]
  if (epoch !== undefined) return Number(epoch.padEnd(13, '0'))
  const when = LEAD.exec(text)?.[1]
  if (when === undefined) return undefined
  const iso = ISO.exec(when)?.[0]
  if (iso !== undefined) return Date.parse(iso.replace(' ', 'T'))
  const duration = DURATION.exec(when)?.[1]
  if (duration !== undefined) return now + parseDuration(duration)
  return parseWallClock(when, { now, zone: parseZone(when) ?? resolveTimeZone(tz) })
}

function parseWallClock(text: string, { now, zone }: { now: number; zone: string }): number | undefined {
  const date = DATE.exec(text)
  const month = MONTHS.indexOf(date?.[1]?.toLowerCase() ?? '')
  const minutes = parseMinutes(text.slice(date && month >= 0 ? date[0].length : 0))
  if (minutes === undefined) return undefined
  const today = Math.floor(wallTimeAt(now, zone) / DAY_MS) * DAY_MS
  if (!date || month < 0) return nextTime(today + minutes * MINUTE_MS, { now, zone })
  const day = Number(date[2])
  const years = date[3] === undefined ? yearsAround(today) : [Number(date[3])]
  const moments = years.flatMap(year => {
    const midnight = Date.UTC(year, month, day)
    const isReal = new Date(midnight).getUTCDate() === day
    return isReal ? momentsOfWallTime(midnight + minutes * MINUTE_MS, zone) : []
  })
  // Without a year it is the nearest such date, even one that has just passed.
  return moments.toSorted((a, b) => Math.abs(a - now) - Math.abs(b - now))[0]
}

/** The first moment from now on at which the clocks show this time. */
function nextTime(wallToday: number, { now, zone }: { now: number; zone: string }): number | undefined {
  const days = [-1, 0, 1, 2].flatMap(days => momentsOfWallTime(wallToday + days * DAY_MS, zone))
  return days.toSorted((a, b) => a - b).find(moment => moment > now - JUST_PASSED_MS)
}

function parseMinutes(text: string): number | undefined {
  const [, hour12, minute12, half, hour24, minute24] = TIME.exec(text) ?? []
  if (half !== undefined) {
    const hour = Number(hour12)
    if (hour < 1 || hour > 12 || Number(minute12 ?? 0) > 59) return undefined
    return ((hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0)) * 60 + Number(minute12 ?? 0)
  }
  if (hour24 === undefined || Number(hour24) > 23 || Number(minute24) > 59) return undefined
  return Number(hour24) * 60 + Number(minute24)
}

function parseZone(text: string): string | undefined {
  const name = ZONE.exec(text)?.[1]
  return name !== undefined && isTimeZone(name) ? name : undefined
}

function yearsAround(today: number): number[] {
  const year = new Date(today).getUTCFullYear()
  return [year - 1, year, year + 1]
}

function parseDuration(duration: string): number {
  const pieces = duration.matchAll(/(\d+)\s*([dhms])/gi)
  return [...pieces].reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit?.toLowerCase() ?? ''] ?? 0), 0)
}

const ZONE_SEARCH_MS = 24 * HOUR_MS
/** No zone changes its offset twice within this time. */
const STEP_MS = 6 * HOUR_MS

/** A period in which a zone's offset does not change: `offset` is how far its clocks are ahead of UTC. */
export interface OffsetPeriod {
  from: number
  to: number
  offset: number
}

/** Whether the system knows a zone with this name. */
function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

/** The zone in which a program with this value of `TZ` shows its times; without one the machine's own. */
export function resolveTimeZone(tz: string | undefined): string {
  const name = tz?.replace(/^:/, '') ?? ''
  return name !== '' && isTimeZone(name) ? name : ownZone()
}

/** The periods of constant offset between two moments, in order: one, or two around a change of clocks. */
export function* offsetPeriods(zone: string, from: number, to: number): Generator<OffsetPeriod> {
  const offsetAt = offsetReader(zone)
  let start = from
  let offset = offsetAt(from)
  for (let at = from; at < to; ) {
    const next = Math.min(at + STEP_MS, to)
    const changed = offsetAt(next)
    if (changed !== offset) {
      const change = findFirst(at, next, moment => offsetAt(moment) !== offset)
      yield { from: start, to: change, offset }
      start = change
      offset = changed
    }
    at = next
  }
  yield { from: start, to, offset }
}

/**
 * The moments at which a zone's clocks show this time (given as if it were UTC): two if the hour comes twice. If the hour is
 * skipped, the moment at which it would have come.
 */
function momentsOfWallTime(wall: number, zone: string): number[] {
  const around = [...offsetPeriods(zone, wall - ZONE_SEARCH_MS, wall + ZONE_SEARCH_MS)]
  const moments = around.filter(({ from, to, offset }) => wall - offset >= from && wall - offset < to)
  return (moments.length > 0 ? moments : around.slice(0, 1)).map(({ offset }) => wall - offset)
}

/** What a zone's clocks show at a moment, as if it were UTC. */
function wallTimeAt(moment: number, zone: string): number {
  return moment + offsetReader(zone)(moment)
}

/** Bisects to the minute: clocks change on whole minutes. */
function findFirst(before: number, after: number, holds: (moment: number) => boolean): number {
  let low = Math.floor(before / MINUTE_MS)
  let high = Math.ceil(after / MINUTE_MS)
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle * MINUTE_MS)) high = middle
    else low = middle
  }
  return high * MINUTE_MS
}

function offsetReader(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return at => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000
  }
}
