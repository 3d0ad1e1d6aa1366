import * as z from 'zod'
import { isZone } from '../base/clock.ts'
import { type RunTarget, StartRun } from './run.ts'

export const ScheduleState = z.enum(['waiting', 'over', 'cancelled'])
export type ScheduleState = z.infer<typeof ScheduleState>

/** When a run starts, as a person wrote it. At least one of the first three fields is set. */
export const When = z.strictObject({
  /** Once: "02:00", "tomorrow 02:00", "2027-01-31 02:00", "in 3h". */
  at: z.string().trim().min(1).max(100).optional(),
  /** Repeatedly: "weekdays 22:00", "mon,thu 03:30", "6h", a cron expression of five fields. */
  every: z.string().trim().min(1).max(100).optional(),
  /** In percent: the run starts only when the fullest window of the account is below it. */
  quota_below: z.number().gt(0).max(100).optional(),
  /** The time zone of the person. */
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
  /** As the person wrote it. */
  at: string | null
  every: string | null
  quota_below: number | null
  zone: string
  /** When it starts next; in the past if it waits for the quota, null if it is over. */
  due_at: number | null
  /** Why it waits beyond its time, or what happened last. */
  reason: string | null
  fired: number
  last_fired_at: number | null
  last_run_id: string | null
  created_at: number
}
