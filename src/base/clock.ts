/** The current time, injected so that tests can move it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** The wait before something is tried again that failed for a reason that may pass: a full disk, a locked store, a vendor that is away. */
export const RETRY_MS = 15_000

/** Whether this machine knows a time zone of that name. */
export function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** The time zone of this process. If `TZ` holds a value without a name (`:/etc/localtime`, `UTC-3`), the offset from UTC is used. */
export function ownZone(now = new Date()): string {
  const name: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone
  return name !== undefined && isZone(name) ? name : formatOffset(-now.getTimezoneOffset())
}

function formatOffset(minutes: number): string {
  const two = (count: number) => String(Math.floor(count)).padStart(2, '0')
  const size = Math.abs(minutes)
  return size === 0 ? 'UTC' : `${minutes < 0 ? '-' : '+'}${two(size / 60)}:${two(size % 60)}`
}

/** `12:00:08` in local time. */
export function clockTime(ms: number): string {
  const date = new Date(ms)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')
}

/** `2026-01-13 12:00:01` in local time. */
export function dateTime(ms: number): string {
  const date = new Date(ms)
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())} ${clockTime(ms)}`
}

/** `17:30`, with the date when it is not today. */
export function wakeTime(ms: number, now: number): string {
  const [day = '', time = ''] = dateTime(ms).split(' ')
  return dateTime(now).startsWith(day) ? time.slice(0, 5) : `${day} ${time.slice(0, 5)}`
}

export function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

/** How a person may write a past moment (`parseSince`), for help and errors. */
export const PAST_TIMES = '8h, 7d, 22:00, "mon 22:00", yesterday, "yesterday 18:00" or 2027-01-31'
