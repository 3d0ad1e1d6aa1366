import { readHours } from '../../domain/hours.ts'
import type { NoticeKind, NotifySettings } from './notice.ts'

type QuietSettings = Pick<NotifySettings, 'quiet_hours' | 'working_days' | 'wake_for'>

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
const DAY_MS = 24 * 60 * 60_000

/** When a person may be told: now (undefined), or from a later time, by the wall clock of this machine. */
export function quietUntil(kind: NoticeKind, settings: QuietSettings, now: number): number | undefined {
  if (settings.wake_for.includes(kind) || !isQuiet(new Date(now), settings)) return undefined
  const ends = [0, ...(readHours(settings.quiet_hours ?? '') ?? []).map(({ to }) => to)].sort((a, b) => a - b)
  const today = new Date(now)
  for (let day = 0; day <= 8; day++) {
    for (const minutes of ends) {
      const then = new Date(today.getFullYear(), today.getMonth(), today.getDate() + day, 0, minutes)
      if (then.getTime() > now && !isQuiet(then, settings)) return then.getTime()
    }
  }
  return now + DAY_MS // quiet on every day: looked at again, for the settings may change
}

function isQuiet(at: Date, { quiet_hours, working_days }: QuietSettings): boolean {
  const day = DAYS[at.getDay()]
  if (day && !working_days.includes(day)) return true
  const minute = at.getHours() * 60 + at.getMinutes()
  return (readHours(quiet_hours ?? '') ?? []).some(({ from, to }) =>
    from < to ? minute >= from && minute < to : minute >= from || minute < to,
  )
}
