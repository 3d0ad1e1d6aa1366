/** The current time, injected so that tests can move it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

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
