import * as z from 'zod'
import { type RunTarget, StartRun } from './run.ts'

export const ScheduleState = z.enum(['waiting', 'over', 'cancelled'])
export type ScheduleState = z.infer<typeof ScheduleState>

/** When a run is to begin, as a person said it. At least one of the three. */
export const When = z.strictObject({
  /** Once: "02:00", "tomorrow 02:00", "2027-01-31 02:00", "in 3h". */
  at: z.string().trim().min(1).max(100).optional(),
  /** Again and again: "weekdays 22:00", "mon,thu 03:30", "6h", a cron expression of five fields. */
  every: z.string().trim().min(1).max(100).optional(),
  /** Percent: not before the fullest window of the account is below it. */
  quota_below: z.number().gt(0).max(100).optional(),
  /** The zone that the person's clock is in. */
  zone: z.string().max(100).refine(isZone, 'it is no time zone of this machine'),
})
export type When = z.infer<typeof When>

/** POST /schedules */
export const SetSchedule = StartRun.extend({ when: When })
export type SetSchedule = z.infer<typeof SetSchedule>

/** A schedule in GET /schedules. */
export interface ScheduleView {
  id: string
  project: string
  target: RunTarget
  state: ScheduleState
  /** As it was said. */
  at: string | null
  every: string | null
  quota_below: number | null
  zone: string
  /** When it begins next; in the past where it waits for the quota, null where it is over. */
  due_at: number | null
  /** What it waits for beyond its time, or what became of it last. */
  reason: string | null
  fired: number
  last_fired_at: number | null
  last_run_id: string | null
  created_at: number
}

/** Whether this machine knows a zone of that name. */
export function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

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
