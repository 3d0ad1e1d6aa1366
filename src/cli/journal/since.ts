import { InvalidArgumentError } from 'commander'

const DAY_MS = 86_400_000
const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: DAY_MS, w: 7 * DAY_MS }

/** When a person means: `2h` back, `22:00` (the last time it was), `today`, `yesterday`, a date with or without a time. */
export function sinceTime(text: string, now: number): number {
  const [, number, unit = ''] = /^(\d{1,5})\s*([mhdw])$/.exec(text.trim()) ?? []
  if (number !== undefined) return now - Number(number) * (UNITS[unit] ?? DAY_MS)
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text.trim()) ?? []
  if (hours !== undefined) return lastTime(now, Number(hours), Number(minutes))
  if (text.trim() === 'today') return dayStart(now)
  if (text.trim() === 'yesterday') return dayStart(dayStart(now) - 1)
  const date = DATE.test(text.trim()) ? new Date(localDate(text.trim())).getTime() : Number.NaN
  if (!Number.isNaN(date)) return date
  throw new InvalidArgumentError(
    'It must be a time such as 2h, 7d, 22:00, yesterday, 2026-01-31 or "2026-01-31 22:00".',
  )
}

const DATE = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})?)?$/

/** A date alone is this machine's day, as a date with a time is. */
function localDate(text: string): string {
  return text.length === 10 ? `${text}T00:00` : text.replace(' ', 'T')
}

function lastTime(now: number, hours: number, minutes: number): number {
  const date = new Date(now)
  date.setHours(hours, minutes, 0, 0)
  if (date.getTime() > now) date.setDate(date.getDate() - 1)
  return date.getTime()
}

function dayStart(now: number): number {
  return new Date(now).setHours(0, 0, 0, 0)
}
