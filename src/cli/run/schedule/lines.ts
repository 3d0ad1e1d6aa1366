import { basename } from 'node:path'
import { ownZone } from '../../../domain/schedules/own-zone.ts'
import type { ScheduleView } from '../../../domain/schedules/schedule.ts'
import { whenText } from '../../../tasks/schedules/when-text.ts'
import { duration } from '../../render/format.ts'
import type { Terminal } from '../../render/paint.ts'
import { cut, firstLine, neutral } from '../../render/text.ts'
import { targetText } from '../words.ts'

/** What was asked for, harmless to print. */
export function whenLine(schedule: ScheduleView): string {
  return neutral(whenText(schedule))
}

/** `Mon 16 Nov 02:00 (in 9h 12m)`, by the clock that the person set it with, which is named where it is not this one. */
export function dueText({ due_at, zone, reason }: ScheduleView, now: number): string {
  if (due_at === null) return 'never again'
  if (due_at <= now) return reason === null ? 'at once' : neutral(reason)
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    ...({ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const),
  }).formatToParts(due_at)
  const of = (type: string) => parts.find(part => part.type === type)?.value ?? ''
  const time = `${of('weekday')} ${of('day')} ${of('month')} ${of('hour')}:${of('minute')}`
  const clock = zone === ownZone() ? '' : ` ${zone}`
  return `${time}${clock} (in ${duration(due_at - now)})`
}

/** The head of `pcc runs`: what is to come, soonest first. */
export function scheduleLines(schedules: readonly ScheduleView[], { paint, width }: Terminal, now: number): string[] {
  if (schedules.length === 0) return []
  const line = (schedule: ScheduleView) => {
    const what = `${firstLine(basename(schedule.project))}: ${targetText(schedule)}`
    const last = schedule.last_run_id === null ? '' : ` · last ${schedule.last_run_id}`
    const skipped = schedule.reason !== null && (schedule.due_at ?? 0) > now ? ` · ${neutral(schedule.reason)}` : ''
    return cut(
      `${schedule.id}  ${what} · ${whenLine(schedule)} · next ${dueText(schedule, now)}${last}${skipped}`,
      width,
    )
  }
  return [paint('bold', 'To come'), ...schedules.map(line), '']
}
