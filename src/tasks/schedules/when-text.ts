import type { ScheduleView } from '../../domain/schedules/schedule.ts'

/** What was asked for, in words: `every weekdays 22:00, below 50 % of the quota`. */
export function whenText({ at, every, quota_below }: Pick<ScheduleView, 'at' | 'every' | 'quota_below'>): string {
  const below = quota_below === null ? [] : [`below ${quota_below} % of the quota`]
  const time = every !== null ? [`every ${every}`] : at !== null ? [`once, ${at}`] : []
  return [...time, ...below].join(', ')
}
