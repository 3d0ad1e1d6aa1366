import { Cron } from 'croner'
import { HOUR_MS, MINUTE_MS } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import type { When } from '../domain/schedule.ts'

/** A parsed time: when it is first due, and the pattern by which it repeats. */
export interface ScheduleTimes {
  due_at: number
  /** Cron, five fields; null for a single time. */
  pattern: string | null
}

const UNIT_MS = { m: MINUTE_MS, h: 60 * MINUTE_MS, d: 24 * 60 * MINUTE_MS } as const
/** A run takes longer than this; a shorter interval is a mistake. */
const LEAST_APART_MS = 5 * MINUTE_MS
/** How many times of a pattern are compared: there may be a pause between the first two. */
const COMPARED_TIMES = 10

/** Parses the time that a person gave. Throws `schedule_wrong` and `schedule_past`. */
export function parseScheduleTimes({ at, every, zone }: When, now: number): ScheduleTimes {
  if (at !== undefined && every !== undefined)
    throw scheduleError('--at', at, 'it names one time, and --every is given too')
  if (every !== undefined) {
    const pattern = parsePattern(every, zone, now)
    return { pattern, due_at: nextScheduledTime(pattern, zone, now) ?? throwPast(every) }
  }
  return { pattern: null, due_at: at === undefined ? now : parseMoment(at, zone, now) }
}

/**
 * The next time of a pattern after a moment. A time that is skipped when the clocks change comes right after the gap; one that
 * occurs twice counts once.
 */
export function nextScheduledTime(pattern: string, zone: string, after: number): number | undefined {
  return new Cron(pattern, { timezone: zone, paused: true }).nextRun(new Date(after))?.getTime()
}

function parseMoment(text: string, zone: string, now: number): number {
  const words = text.toLowerCase()
  const later = /^in (\d{1,4}) ?(m|h|d)(?:in|ins|inutes?|ours?|ays?)?$/.exec(words)
  if (later) return now + Number(later[1]) * UNIT_MS[later[2] as keyof typeof UNIT_MS]
  const exact = parseExactTime(words, zone)
  if (exact === 'no such date') throw scheduleError('--at', text, 'there is no such date')
  if (exact !== undefined) return refusePast(text, exact, now)
  const { days, time } = splitDay(words)
  const clock = parseClock(time)
  if (!clock)
    throw scheduleError(
      '--at',
      text,
      'expected a time such as "02:00", "tomorrow 02:00", "2027-01-31 02:00" or "in 3h"',
    )
  const [hour, minute] = clock
  if (days === undefined || days === 'tonight')
    return nextScheduledTime(`${minute} ${hour} * * *`, zone, now) ?? throwPast(text)
  if (days === 'today' || days === 'tomorrow') {
    const date = dateInZone(zone, now, days === 'today' ? 0 : 1)
    return refusePast(text, localTime(date, clock, zone) ?? throwPast(text), now)
  }
  const day = parseDays(days)
  if (day === undefined) throw scheduleError('--at', text, `"${days}" is not a day`)
  return nextScheduledTime(`${minute} ${hour} * * ${day}`, zone, now) ?? throwPast(text)
}

function parsePattern(text: string, zone: string, now: number): string {
  const words = text.toLowerCase().replace(/\s+/g, ' ')
  const pattern = parseInterval(words) ?? parseDaysAndTime(words) ?? (words.split(' ').length === 5 ? words : undefined)
  const meant = 'expected days and a time such as "weekdays 22:00", "mon,thu 03:30", "day 02:00", or "6h"'
  if (pattern === undefined) throw scheduleError('--every', text, meant)
  try {
    const times = new Cron(pattern, { timezone: zone, paused: true }).nextRuns(COMPARED_TIMES, new Date(now))
    const isTooOften = times.some((time, index) => Number(times[index + 1] ?? Infinity) - Number(time) < LEAST_APART_MS)
    if (isTooOften) throw scheduleError('--every', text, 'the shortest interval is five minutes')
    return pattern
  } catch (error) {
    throw error instanceof AppError ? error : scheduleError('--every', text, meant)
  }
}

/** "hour", "6h", "6 hours": only what divides a day, or the last interval of a day would be shorter than the others. */
function parseInterval(words: string): string | undefined {
  const match = /^(?:(\d{1,2}) ?h(?:ours?)?|hour|hourly)$/.exec(words)
  const hours = match ? Number(match[1] ?? 1) : 0
  if (hours === 0 || 24 % hours !== 0) return undefined
  return hours === 24 ? '0 0 * * *' : `0 */${hours} * * *`
}

function parseDaysAndTime(words: string): string | undefined {
  const { days, time } = splitDay(words)
  const clock = parseClock(time)
  if (!clock) return undefined
  const day = days === undefined ? '*' : parseDays(days)
  return day && `${clock[1]} ${clock[0]} * * ${day}`
}

function refusePast(text: string, moment: number, now: number): number {
  if (moment <= now) throw new AppError('schedule_past', { text })
  return moment
}

function scheduleError(flag: string, text: string, problem: string): AppError {
  return new AppError('schedule_wrong', { flag, text, problem })
}

function throwPast(text: string): never {
  throw new AppError('schedule_past', { text })
}

const SINCE_UNIT_MS = { m: HOUR_MS / 60, h: HOUR_MS, d: 24 * HOUR_MS, w: 7 * 24 * HOUR_MS } as const

/** The past moment that a person means: "22:00" is the last time that it was ten. Throws `since_wrong`. */
export function parseSince(text: string, zone: string, now: number): number {
  const moment = parsePastMoment(text.trim().toLowerCase().replace(/\s+/g, ' '), zone, now)
  if (moment === undefined) throw new AppError('since_wrong', { text })
  if (moment > now) throw new AppError('since_ahead', { text })
  return moment
}

function parsePastMoment(words: string, zone: string, now: number): number | undefined {
  const [, count, unit] = /^(\d{1,4}) ?(m|h|d|w)(?:in|ins|inutes?|ours?|ays?|eeks?)?(?: ago)?$/.exec(words) ?? []
  if (count !== undefined) return now - Number(count) * SINCE_UNIT_MS[unit as keyof typeof SINCE_UNIT_MS]
  if (words === 'today') return localTime(dateInZone(zone, now), [0, 0], zone)
  if (words === 'yesterday') return localTime(dateInZone(zone, now, -1), [0, 0], zone)
  const exact = parseExactTime(/^\d{4}-\d\d-\d\d$/.test(words) ? `${words} 00:00` : words, zone)
  if (exact !== undefined) return exact === 'no such date' ? undefined : exact
  const { days, time } = splitDay(words)
  const clock = parseClock(time)
  if (!clock) return undefined
  if (days === 'today') return localTime(dateInZone(zone, now), clock, zone)
  if (days === 'yesterday' || days === 'last night') return localTime(dateInZone(zone, now, -1), clock, zone)
  const day = days === undefined ? '*' : parseDays(days)
  return day === undefined ? undefined : lastTime(`${clock[1]} ${clock[0]} * * ${day}`, zone, now)
}

/** The latest time of a pattern that is not after a moment. */
function lastTime(pattern: string, zone: string, now: number): number | undefined {
  let last: number | undefined
  for (let at = nextScheduledTime(pattern, zone, now - 8 * SINCE_UNIT_MS.d); at !== undefined && at <= now; )
    [last, at] = [at, nextScheduledTime(pattern, zone, at)]
  return last
}

const DAYS = ['sun', 'mon', 'tues', 'wednes', 'thurs', 'fri', 'satur'] as const
const GROUPS: Record<string, string> = {
  day: '*',
  daily: '*',
  night: '*',
  weekday: '1-5',
  weekdays: '1-5',
  weekend: '0,6',
  weekends: '0,6',
}

/** "weekdays at 10 pm" is a day and a time; a time alone has no day. */
function splitDay(words: string): { days: string | undefined; time: string } {
  const [, days, time = ''] = /^(?:(.*\S) )?(\S+)$/.exec(words.trim().replace(/ ([ap]m)$/, '$1')) ?? []
  return { days: days?.replace(/ ?\bat$/, '') || undefined, time }
}

/** Hour and minute of "22:00", "10pm" or "10:30pm". A number alone is no time. */
function parseClock(text: string): [hour: number, minute: number] | undefined {
  const [, hours = '', minutes = '0', half] = /^(\d{1,2})(?::(\d\d))?(am|pm)?$/.exec(text) ?? []
  if (hours === '' || (half === undefined && !text.includes(':'))) return undefined
  const given = Number(hours)
  if (half !== undefined && (given < 1 || given > 12)) return undefined
  const hour = half === undefined ? given : (given % 12) + (half === 'pm' ? 12 : 0)
  return hour < 24 && Number(minutes) < 60 ? [hour, Number(minutes)] : undefined
}

/** The days of the week in cron's form, from "weekdays", "mon,thu" or "monday"; undefined if one is not a day. */
function parseDays(names: string): string | undefined {
  const days = names.split(/ ?, ?/).map(name => GROUPS[name] ?? dayNumber(name))
  return days.includes(undefined) ? undefined : days.join(',')
}

function dayNumber(name: string): string | undefined {
  const day = DAYS.findIndex(stem => name === stem.slice(0, 3) || name === `${stem}day`)
  return day < 0 ? undefined : String(day)
}

type Clock = readonly [hour: number, minute: number, second?: number]

/** The moment of "2027-01-31 02:00", in a zone or with its own offset; undefined for a text of another form. */
function parseExactTime(words: string, zone: string): number | 'no such date' | undefined {
  const [, date, hour, minute, second = '0', offset] =
    /^(\d{4}-\d\d-\d\d)[ t](\d\d):(\d\d)(?::(\d\d))?( ?z|[+-]\d\d:?\d\d)?$/i.exec(words) ?? []
  if (date === undefined) return undefined
  const clock = [Number(hour), Number(minute), Number(second)] as const
  const local = localTime(date, clock, offset === undefined ? zone : 'UTC')
  if (local === undefined || offset === undefined) return local ?? 'no such date'
  return Date.parse(`${date}T${hour}:${minute}:${second.padStart(2, '0')}${offset.trim().toUpperCase()}`)
}

/** The moment of a date and time in a zone; undefined if the calendar has no such date. */
function localTime(date: string, [hour, minute, second = 0]: Clock, zone: string): number | undefined {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number)
  const noon = new Date(Date.UTC(year, month - 1, day))
  if (noon.getUTCMonth() !== month - 1 || noon.getUTCDate() !== day) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const local = `${date}T${two(hour)}:${two(minute)}:${two(second)}`
  return new Cron(local, { timezone: zone, paused: true }).nextRun(new Date(0))?.getTime()
}

/** The date in a zone, `2027-01-31`, or that of some days later; days may have 23 or 25 hours. */
function dateInZone(zone: string, moment: number, days = 0): string {
  const today = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(moment)
  return new Date(Date.parse(`${today}T12:00Z`) + days * 86_400_000).toISOString().slice(0, 10)
}

function two(count: number): string {
  return String(count).padStart(2, '0')
}
