import type { StoredEvent } from '../../domain/event.ts'
import type { NotBegun } from '../../domain/report/report.ts'
import type { ScheduleRow } from '../../store/schedules/rows.ts'
import { targetName } from '../runs/scope.ts'

/** Runs that were to begin in a time and did not: left out, or still held up by something. */
export function notBegun(
  events: readonly StoredEvent[],
  schedules: readonly ScheduleRow[],
  { since, until }: { since: number; until: number },
): NotBegun[] {
  const rows = new Map(schedules.map(row => [row.id, row]))
  const skipped = events.flatMap(event => {
    const row = rows.get(event.subject)
    return event.kind === 'schedule.skipped' && row ? [told(row, event.body)] : []
  })
  const held = schedules.flatMap(row => {
    const { state, due_at, reason } = row
    const isHeld = state === 'waiting' && due_at !== null && due_at >= since && due_at < until
    return isHeld && reason !== null ? [told(row, { due_at, reason })] : []
  })
  return [...skipped, ...held]
}

function told({ id, target, project }: ScheduleRow, { due_at, reason }: { due_at: number; reason: string }): NotBegun {
  return { schedule_id: id, target: targetName(target), project, due_at, reason }
}
