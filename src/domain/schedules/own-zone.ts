import { isZone } from './schedule.ts'

/** The zone of this process's clock. `TZ` may say something that has no name (`:/etc/localtime`, `UTC-3`): then how far it is from UTC. */
export function ownZone(now = new Date()): string {
  const name: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone
  return name !== undefined && isZone(name) ? name : offsetName(-now.getTimezoneOffset())
}

function offsetName(minutes: number): string {
  const two = (count: number) => String(Math.floor(count)).padStart(2, '0')
  const size = Math.abs(minutes)
  return size === 0 ? 'UTC' : `${minutes < 0 ? '-' : '+'}${two(size / 60)}:${two(size % 60)}`
}
