import { ownZone } from '../../domain/schedules/own-zone.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const DAY_MS = 24 * HOUR_MS
/** No zone changes its offset twice within this. */
const STEP_MS = 6 * HOUR_MS

/** A stretch of time in which a zone's clocks run evenly: `offset` is what they are ahead of UTC. */
export interface Stretch {
  from: number
  to: number
  offset: number
}

/** Whether the system knows a zone of this name. */
export function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

/** The zone that a program with this value of `TZ` shows its times in; without one the machine's own. */
export function zoneOf(tz: string | undefined): string {
  const name = tz?.replace(/^:/, '') ?? ''
  return name !== '' && isZone(name) ? name : ownZone()
}

/** The even stretches of a zone's clocks between two moments, in order: one, or two around a change of clocks. */
export function* stretches(zone: string, from: number, to: number): Generator<Stretch> {
  const offsetAt = offsetReader(zone)
  let start = from
  let offset = offsetAt(from)
  for (let at = from; at < to; ) {
    const next = Math.min(at + STEP_MS, to)
    const changed = offsetAt(next)
    if (changed !== offset) {
      const change = firstWhere(at, next, moment => offsetAt(moment) !== offset)
      yield { from: start, to: change, offset }
      start = change
      offset = changed
    }
    at = next
  }
  yield { from: start, to, offset }
}

/**
 * The moments at which a zone's clocks show this (given as if it were UTC): two where an hour comes twice, and where an
 * hour is left out the moment at which it would have come.
 */
export function momentsOf(wall: number, zone: string): number[] {
  const around = [...stretches(zone, wall - DAY_MS, wall + DAY_MS)]
  const moments = around.filter(({ from, to, offset }) => wall - offset >= from && wall - offset < to)
  return (moments.length > 0 ? moments : around.slice(0, 1)).map(({ offset }) => wall - offset)
}

/** What a zone's clocks show at a moment, as if it were UTC. */
export function wallAt(moment: number, zone: string): number {
  return moment + offsetReader(zone)(moment)
}

/** Bisects to the minute: clocks change on whole minutes. */
function firstWhere(before: number, after: number, holds: (moment: number) => boolean): number {
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
