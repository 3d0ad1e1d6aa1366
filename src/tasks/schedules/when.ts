import { Cron } from 'croner'
import { AppError } from '../../base/errors.ts'
import type { When } from '../../domain/schedules/schedule.ts'
import { clockIn, daysOf, splitDay } from './clock-words.ts'
import { dateIn, exactTime, localTime } from './local-time.ts'

/** A time that was understood: when it is first, and the pattern it comes back by. */
export interface Times {
  due_at: number
  /** Cron, five fields; null for a single time. */
  pattern: string | null
}

const MINUTE_MS = 60_000
const UNIT_MS = { m: MINUTE_MS, h: 60 * MINUTE_MS, d: 24 * 60 * MINUTE_MS } as const
/** A run takes longer than that; more often is a slip of the pen. */
const LEAST_APART_MS = 5 * MINUTE_MS
/** Times of a pattern that are looked at: the first two may lie on either side of a pause. */
const LOOKED_AT = 10

/** Reads what a person said. Throws `schedule_wrong` and `schedule_past`. */
export function timesOf({ at, every, zone }: When, now: number): Times {
  if (at !== undefined && every !== undefined) throw wrong('--at', at, 'it is for one time, and --every is there too')
  if (every !== undefined) {
    const pattern = patternOf(every, zone, now)
    return { pattern, due_at: nextTime(pattern, zone, now) ?? never(every) }
  }
  return { pattern: null, due_at: at === undefined ? now : momentOf(at, zone, now) }
}

/**
 * The next time of a pattern after a moment. A time that the clocks leave out comes as soon as they go on; one that comes
 * twice counts once.
 */
export function nextTime(pattern: string, zone: string, after: number): number | undefined {
  return new Cron(pattern, { timezone: zone, paused: true }).nextRun(new Date(after))?.getTime()
}

function momentOf(text: string, zone: string, now: number): number {
  const said = text.toLowerCase()
  const later = /^in (\d{1,4}) ?(m|h|d)(?:in|ins|inutes?|ours?|ays?)?$/.exec(said)
  if (later) return now + Number(later[1]) * UNIT_MS[later[2] as keyof typeof UNIT_MS]
  const exact = exactTime(said, zone)
  if (exact === 'no such date') throw wrong('--at', text, 'there is no such date')
  if (exact !== undefined) return notPast(text, exact, now)
  const { days, time } = splitDay(said)
  const clock = clockIn(time)
  if (!clock)
    throw wrong('--at', text, 'a time such as "02:00", "tomorrow 02:00", "2027-01-31 02:00" or "in 3h" is meant')
  const [hour, minute] = clock
  if (days === undefined || days === 'tonight') return nextTime(`${minute} ${hour} * * *`, zone, now) ?? never(text)
  if (days === 'today' || days === 'tomorrow') {
    const date = dateIn(zone, now, days === 'today' ? 0 : 1)
    return notPast(text, localTime(date, clock, zone) ?? never(text), now)
  }
  const day = daysOf(days)
  if (day === undefined) throw wrong('--at', text, `"${days}" is no day`)
  return nextTime(`${minute} ${hour} * * ${day}`, zone, now) ?? never(text)
}

function patternOf(text: string, zone: string, now: number): string {
  const said = text.toLowerCase().replace(/\s+/g, ' ')
  const pattern = intervalIn(said) ?? daysIn(said) ?? (said.split(' ').length === 5 ? said : undefined)
  const meant = 'days and a time such as "weekdays 22:00", "mon,thu 03:30", "day 02:00", or "6h", is meant'
  if (pattern === undefined) throw wrong('--every', text, meant)
  try {
    const times = new Cron(pattern, { timezone: zone, paused: true }).nextRuns(LOOKED_AT, new Date(now))
    const isTooOften = times.some((time, index) => Number(times[index + 1] ?? Infinity) - Number(time) < LEAST_APART_MS)
    if (isTooOften) throw wrong('--every', text, 'five minutes apart is the least')
    return pattern
  } catch (error) {
    throw error instanceof AppError ? error : wrong('--every', text, meant)
  }
}

/** "hour", "6h", "6 hours": what divides a day, or the last one of a day would be shorter than the others. */
function intervalIn(said: string): string | undefined {
  const found = /^(?:(\d{1,2}) ?h(?:ours?)?|hour|hourly)$/.exec(said)
  const hours = found ? Number(found[1] ?? 1) : 0
  if (hours === 0 || 24 % hours !== 0) return undefined
  return hours === 24 ? '0 0 * * *' : `0 */${hours} * * *`
}

function daysIn(said: string): string | undefined {
  const { days, time } = splitDay(said)
  const clock = clockIn(time)
  if (!clock) return undefined
  const found = days === undefined ? '*' : daysOf(days)
  return found && `${clock[1]} ${clock[0]} * * ${found}`
}

function notPast(text: string, moment: number, now: number): number {
  if (moment <= now) throw new AppError('schedule_past', { text })
  return moment
}

function wrong(flag: string, text: string, problem: string): AppError {
  return new AppError('schedule_wrong', { flag, text, problem })
}

function never(text: string): never {
  throw new AppError('schedule_past', { text })
}
