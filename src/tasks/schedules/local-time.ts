import { Cron } from 'croner'

type Clock = readonly [hour: number, minute: number, second?: number]

/** The moment of "2027-01-31 02:00", by the clocks of a zone or with an offset of its own; undefined where that is not what it says. */
export function exactTime(said: string, zone: string): number | 'no such date' | undefined {
  const [, date, hour, minute, second = '0', offset] =
    /^(\d{4}-\d\d-\d\d)[ t](\d\d):(\d\d)(?::(\d\d))?( ?z|[+-]\d\d:?\d\d)?$/i.exec(said) ?? []
  if (date === undefined) return undefined
  const clock = [Number(hour), Number(minute), Number(second)] as const
  const local = localTime(date, clock, offset === undefined ? zone : 'UTC')
  if (local === undefined || offset === undefined) return local ?? 'no such date'
  return Date.parse(`${date}T${hour}:${minute}:${second.padStart(2, '0')}${offset.trim().toUpperCase()}`)
}

/** A moment by the clocks of a zone; undefined where no calendar has it. */
export function localTime(date: string, [hour, minute, second = 0]: Clock, zone: string): number | undefined {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number)
  const noon = new Date(Date.UTC(year, month - 1, day))
  if (noon.getUTCMonth() !== month - 1 || noon.getUTCDate() !== day) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const local = `${date}T${two(hour)}:${two(minute)}:${two(second)}`
  return new Cron(local, { timezone: zone, paused: true }).nextRun(new Date(0))?.getTime()
}

/** The date that a zone's calendar shows: `2027-01-31`; or so many days later, of which some have 23 or 25 hours. */
export function dateIn(zone: string, moment: number, days = 0): string {
  const today = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(moment)
  return new Date(Date.parse(`${today}T12:00Z`) + days * 86_400_000).toISOString().slice(0, 10)
}

function two(count: number): string {
  return String(count).padStart(2, '0')
}
